import type { CallOptions, FuncName } from '@spock/protocol';

import type { CallTraits } from '../calls/call.ts';
import type { Connection } from '../connection/connection.ts';

/** What can be subscribed to: services, or keys. */
export interface SubscriptionKind<Q, S> {
	/** Asks for one snapshot; also what a call is named by in errors. */
	readonly getFunc: FuncName;
	readonly watchFunc: FuncName;
	readonly unwatchFunc: FuncName;
	/** How the replies to `getFunc` and to `watchFunc` are read, the latter also where it is not the first time. */
	readonly fetched: CallTraits;
	readonly subscribed: CallTraits;
	readonly subscribedAgain: CallTraits;
	/** What is asked for, as the member of an error's details. */
	readonly noun: 'service' | 'key';
	nameOf(query: Q): string;
	/** Equal queries have equal names; a snapshot has that of its query. */
	keyOf(query: Q | S): string;
	normalise(query: Q): Q;
	/** The snapshot in a push; throws PROTOCOL, and tells of what it leaves out. */
	read(data: unknown, leftOut: (why: string) => void): S;
	/** The query that a push which cannot be read is about; throws where that cannot be read either. */
	queryOf(data: unknown): Q;
}

/** The way to the sidecar, which all subscriptions of a client share. */
export interface SubscriptionPort {
	readonly connection: Connection;
	/** False for a sidecar that cannot push; undefined until the first has answered hello. */
	readonly pushes: boolean | undefined;
	/** Calls any function; the options are checked already. */
	call(func: FuncName, data: unknown, traits: CallTraits, options: CallOptions): Promise<unknown>;
}
