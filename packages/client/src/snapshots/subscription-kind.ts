import {
	type CallOptions,
	type FuncName,
	type KeyQuery,
	type KeySnapshot,
	keyQueryKey,
	normaliseKeyQuery,
	normaliseQuery,
	queryKey,
	type ReadOptions,
	type ServiceQuery,
	type ServiceSnapshot,
	type SpockError,
	validateKeyQuery,
	validateQuery,
} from '@spock/protocol';

import { type CallTraits, makeTraits } from '../calls/outgoing-call.ts';
import type { SidecarConnection } from '../connection/sidecar-connection.ts';
import { readAddress, readDelta, readKeySnapshot, readList, readSnapshot } from './read-snapshot.ts';
import type { QueryIdentity, SnapshotFeed } from './snapshot-store.ts';
import type { PublishedSnapshot, StoredSnapshot } from './stored-snapshot.ts';

/** What can be subscribed to: services, or keys. */
export interface SubscriptionKind<Q, S> extends QueryIdentity<Q, S> {
	/** The function that requests one snapshot; errors name a call by it. */
	readonly getFunc: FuncName;
	readonly watchFunc: FuncName;
	readonly unwatchFunc: FuncName;
	/** How replies to `getFunc` and `watchFunc` are read; `subscribedAgain` applies to all subscriptions after the first. */
	readonly fetched: CallTraits;
	readonly subscribed: CallTraits;
	readonly subscribedAgain: CallTraits;
	/** The member of an error's details that names the query. */
	readonly noun: 'service' | 'key';
	nameOf(query: Q): string;
	/** The snapshot in a push; throws PROTOCOL, and reports what it leaves out. */
	read(data: unknown, leftOut: (why: string) => void): S;
	/** The same of a push that builds on `base`; throws PROTOCOL also if it builds on another one. Undefined: pushes are whole. */
	readonly readDelta?: (data: unknown, base: S, leftOut: (why: string) => void) => S;
	/** The query of an unreadable push; throws if the query is unreadable too. */
	queryOf(data: unknown): Q;
}

/** Access to the sidecar, shared by all subscriptions of a client. */
export interface SubscriptionPort {
	readonly connection: SidecarConnection;
	/** False for a sidecar that cannot push; undefined until the first has answered hello. */
	readonly pushes: boolean | undefined;
	/** Calls any function; the options are checked already. */
	call(func: FuncName, data: unknown, traits: CallTraits, options: CallOptions): Promise<unknown>;
}

/** While the sidecar is away, feeds the snapshots that it has never sent. */
export interface StandIn<Q, S extends PublishedSnapshot> extends SnapshotFeed<Q, S> {
	/** True while the sidecar is disconnected. */
	readonly isAway: boolean;
	/** True if it feeds this snapshot now. */
	feeds(stored: StoredSnapshot<Q, S>): boolean;
	/** Rejects with UNAVAILABLE if the answer is older than `maxAgeMs`. */
	get(query: Q, options: ReadOptions): Promise<S>;
	/** Adds to a TIMEOUT of the sidecar why the stand-in has no answer either. */
	explain(stored: StoredSnapshot<Q, S>, timeout: SpockError): SpockError;
}

/** A lookup whose reply is one address. */
export const ADDRESS: CallTraits = makeTraits({ idempotent: true, memoised: true, read: readAddress });
/** A lookup whose reply is a snapshot. */
const SNAPSHOT: CallTraits = makeTraits({ idempotent: true, read: readSnapshot });
/** The names of all services. */
export const LIST: CallTraits = makeTraits({ idempotent: true, read: readList });
/** A subscription of one session. Not repeated, because the next session makes its own. Lookups wait for its answer. */
const SUBSCRIBE: CallTraits = makeTraits({ read: readSnapshot });
/** As SNAPSHOT and SUBSCRIBE, for keys. */
const KEY_SNAPSHOT: CallTraits = makeTraits({ idempotent: true, read: readKeySnapshot });
const SUBSCRIBE_KEY: CallTraits = makeTraits({ read: readKeySnapshot });
/** A repeated subscription, on a new connection or after a refusal: it belongs to no caller. */
const RESUBSCRIBE: CallTraits = makeTraits({ own: true, read: readSnapshot });
const RESUBSCRIBE_KEY: CallTraits = makeTraits({ own: true, read: readKeySnapshot });

/** How `request` treats a function: replies to lookups are validated, so that their types are true. */
export const REQUEST_TRAITS: Readonly<Partial<Record<FuncName, CallTraits>>> = {
	getService: makeTraits({ memoised: true, read: readAddress }),
	getInstances: SUBSCRIBE,
	watchService: SUBSCRIBE,
	getKey: SUBSCRIBE_KEY,
	watchKey: SUBSCRIBE_KEY,
	listServices: makeTraits({ read: readList }),
};

/** Subscriptions to services. */
export const SERVICES: SubscriptionKind<ServiceQuery, ServiceSnapshot> = {
	getFunc: 'getInstances',
	watchFunc: 'watchService',
	unwatchFunc: 'unwatchService',
	fetched: SNAPSHOT,
	subscribed: SUBSCRIBE,
	subscribedAgain: RESUBSCRIBE,
	noun: 'service',
	nameOf: ({ service }) => service,
	keyOf: queryKey,
	normalise: normaliseQuery,
	read: readSnapshot,
	readDelta,
	queryOf: validateQuery,
};

/** Subscriptions to keys. */
export const KEYS: SubscriptionKind<KeyQuery, KeySnapshot> = {
	getFunc: 'getKey',
	watchFunc: 'watchKey',
	unwatchFunc: 'unwatchKey',
	fetched: KEY_SNAPSHOT,
	subscribed: SUBSCRIBE_KEY,
	subscribedAgain: RESUBSCRIBE_KEY,
	noun: 'key',
	nameOf: ({ key }) => key,
	keyOf: keyQueryKey,
	normalise: normaliseKeyQuery,
	read: readKeySnapshot,
	queryOf: validateKeyQuery,
};
