import { channel } from 'node:diagnostics_channel';

import type { ZoneShare } from '@spock/balancer';
import type {
	ErrorCode,
	KeyQuery,
	RegistrationReply,
	ServiceQuery,
	SnapshotSource,
	SpockError,
	TraceContext,
} from '@spock/protocol';
import { isObject, stringOrNull } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import type { ConnectionEvent, ConnectionState, EjectedInstance } from './status.ts';

// Applications subscribe with node:diagnostics_channel by the names below; docs/reference/diagnostics.md has them for readers. Nothing
// is built or published while nobody has subscribed. https://nodejs.org/api/diagnostics_channel.html

/** `spock:client:state`: the connection goes from one state of its machine to another. */
export interface StateMessage {
	readonly address: string;
	readonly from: ConnectionState;
	readonly to: ConnectionState;
	/** What caused it. */
	readonly event: ConnectionEvent;
}

/** `spock:client:connect`: hello was answered. */
export interface ConnectMessage {
	readonly address: string;
	/** Name and version the sidecar gave, or null for a baseline sidecar. */
	readonly sidecar: string | null;
	/** True for every connection but the first. */
	readonly again: boolean;
}

/** `spock:client:disconnect`: a connection that had been ready is gone, or an attempt failed. */
export interface DisconnectMessage {
	readonly address: string;
	readonly error: SpockError;
	/** True if the connection had been ready. */
	readonly wasReady: boolean;
}

/** What both messages about a call to the sidecar hold. Lookups answered in this process are not calls. */
export interface RequestMessage {
	readonly func: string;
	/** The same object at the start and at the end of one call, and of no other. */
	readonly call: object;
	/** Where the sidecar is: the address that the client was given. */
	readonly server: SocketAddress;
	/** True for calls that the client makes for itself: hello, pings, renewed subscriptions. */
	readonly own: boolean;
}

/** `spock:client:request:start`: a call was made, in the async context of who made it. */
export interface RequestStartMessage extends RequestMessage {
	/** May be set while the message is published: the request then carries its trace to the sidecar. */
	trace: TraceContext | undefined;
}

/** `spock:client:request:end`: a call was settled. Published for calls made while this channel had a subscriber. */
export interface RequestEndMessage extends RequestMessage {
	/** From its making to its end, with all that it waited for. */
	readonly durationMs: number;
	/** `ok`, or the code of `error`. */
	readonly code: 'ok' | ErrorCode;
	/** Undefined when it succeeded. */
	readonly error: SpockError | undefined;
	/** Bytes of its frame, LF not counted; 0 if it never left. */
	readonly requestBytes: number;
}

/** `spock:client:limit`: a call or subscription was refused in this process, OVERLOADED, because an option bounds them. */
export interface LimitMessage {
	readonly func: string;
	/** The option. */
	readonly limit: string;
	readonly value: number;
}

/** `spock:client:window`: an overloaded sidecar narrows what may be in flight, or widens it again. */
export interface WindowMessage {
	readonly address: string;
	/** How many may be in flight from now on. */
	readonly inFlightMax: number;
	/** False once it is as wide as hello said. */
	readonly narrowed: boolean;
}

/** `spock:client:goaway`: the sidecar asks this client to connect again, because it ends or was replaced. */
export interface GoawayMessage {
	readonly address: string;
	/** `shutdown`, `upgrade`, `token` (it is no longer accepted), or the reason of a newer sidecar; null if it gives none. */
	readonly reason: string | null;
	/** How long it continues to answer, in milliseconds; null if unknown. */
	readonly graceMs: number | null;
}

/** `spock:client:snapshot`: a stored snapshot has changed, or is no longer live, or live again. */
export interface SnapshotMessage {
	readonly address: string;
	/** What was asked for. */
	readonly query: ServiceQuery | KeyQuery;
	readonly revision: number;
	readonly source: SnapshotSource;
	/** What the snapshot before it was; undefined for the first. */
	readonly previousSource: SnapshotSource | undefined;
	readonly ageMs: number;
	readonly verifiedAt: number;
	/** Instances of a service, or keys. */
	readonly count: number;
}

/** `spock:client:skip`: a reader of a watch is slow: the newest snapshot took the place of one that it never read. */
export interface SkipMessage {
	/** What it watches. */
	readonly query: ServiceQuery | KeyQuery;
}

/** `spock:client:registration`: a registration of this app has changed; `error` is why it is `pending`. */
export interface RegistrationMessage extends RegistrationReply {
	readonly address: string;
}

/** `spock:client:fault`: the sidecar sent what the protocol does not allow, or a reply that no call waits for. */
export interface FaultMessage {
	readonly address: string;
	readonly kind: 'frame' | 'late reply' | 'push' | 'failure without a request';
	readonly message: string;
}

/** `spock:client:ejection`: calls to an instance failed in a row, and it gets none of this client for a while. */
export type EjectionMessage = EjectedInstance;

/** `spock:client:shares`: with `zonePolicy: 'prefer'`, the work of this client for a service was shared out among zones anew. */
export interface SharesMessage {
	readonly query: ServiceQuery;
	/** The zone of this client. */
	readonly zone: string;
	/** Each zone with its fractions, this client's own first: `shares[0].work` is how much of the work stays in it. */
	readonly shares: readonly ZoneShare[];
}

/**
 * `spock:client:unwatched`: the watch of a service, to which an integration has connections, has ended with an error: until the next new
 * connection the integration does not notice when an instance leaves.
 */
export interface UnwatchedMessage {
	readonly query: ServiceQuery;
	readonly error: SpockError;
}

/** `spock:client:config:error`: a configuration differs from the registry; `error` is the reason. Never holds a value. */
export interface ConfigErrorMessage extends KeyQuery {
	readonly error: SpockError;
}

interface Publisher<T> {
	/** True while the channel has a subscriber: check before building a message. */
	readonly hasSubscribers: boolean;
	publish(message: T): void;
}

export const stateChannel: Publisher<StateMessage> = channel('spock:client:state');
export const connectChannel: Publisher<ConnectMessage> = channel('spock:client:connect');
export const disconnectChannel: Publisher<DisconnectMessage> = channel('spock:client:disconnect');
export const requestStartChannel: Publisher<RequestStartMessage> = channel('spock:client:request:start');
export const requestEndChannel: Publisher<RequestEndMessage> = channel('spock:client:request:end');
export const limitChannel: Publisher<LimitMessage> = channel('spock:client:limit');
export const windowChannel: Publisher<WindowMessage> = channel('spock:client:window');
export const goawayChannel: Publisher<GoawayMessage> = channel('spock:client:goaway');
export const snapshotChannel: Publisher<SnapshotMessage> = channel('spock:client:snapshot');
export const skipChannel: Publisher<SkipMessage> = channel('spock:client:skip');
export const registrationChannel: Publisher<RegistrationMessage> = channel('spock:client:registration');
export const faultChannel: Publisher<FaultMessage> = channel('spock:client:fault');
export const ejectionChannel: Publisher<EjectionMessage> = channel('spock:client:ejection');
export const sharesChannel: Publisher<SharesMessage> = channel('spock:client:shares');
export const unwatchedChannel: Publisher<UnwatchedMessage> = channel('spock:client:unwatched');
export const configErrorChannel: Publisher<ConfigErrorMessage> = channel('spock:client:config:error');

/** The message of a goaway: a reason or a time of another type is null. */
export function goawayMessage(address: string, data: unknown): GoawayMessage {
	const { reason, graceMs } = isObject(data) ? data : {};
	return { address, reason: stringOrNull(reason), graceMs: typeof graceMs === 'number' ? graceMs : null };
}
