import type { ServiceScope, SpockError } from '@spock/protocol';

/** The phase of a connection. */
export type ConnectionState = 'idle' | 'connecting' | 'ready' | 'backoff' | 'draining' | 'closed';
/** What moves a connection from one phase to the next. */
export type ConnectionEvent =
	| 'start'
	| 'connected'
	| 'refused'
	| 'lost'
	| 'goaway'
	| 'successor lost'
	| 'retry due'
	| 'drain'
	| 'emptied'
	| 'close';

/** What a client knows of itself; made anew at each call of `status`. */
export interface DiplomatStatus {
	/** `sidecar`, or the name of the source in direct mode. */
	readonly source: string;
	/** Phase of the connection; in direct mode `ready`, then `closed`. */
	readonly state: ConnectionState;
	/** Path or host:port of the sidecar; null in direct mode. */
	readonly address: string | null;
	/** Name and version that the last sidecar gave; null before the first, for a baseline one, and in direct mode. */
	readonly sidecar: string | null;
	/** The process of the last sidecar; differs for every one. Null as `sidecar` is. */
	readonly instance: string | null;
	/** True if the last sidecar knows requests and replies only: every lookup then goes over the wire. */
	readonly baseline: boolean;
	/** Services and keys that are subscribed to. */
	readonly subscriptions: number;
	/** Requests sent and not settled. */
	readonly inFlight: number;
	/** Calls that wait for a connection, or for the sidecar to widen its window. */
	readonly waiting: number;
	/** Requests in flight to which an overloaded sidecar has narrowed this client; null while it has not. */
	readonly window: number | null;
	/** Replies that came after their calls had ended, since the start. */
	readonly lateReplies: number;
	/** Frames and replies that the protocol does not allow, since the start. */
	readonly protocolFaults: number;
	/** Connections after the first, since the start. */
	readonly reconnects: number;
	/** Why the last attempt or connection ended, for people; null if none has. */
	readonly lastError: string | null;
	/** The source that stands in while the sidecar is away; null without one, as by default. */
	readonly fallback: FallbackStatus | null;
	/** The zone of this client, by its option or by its sidecar; null while it is unknown. */
	readonly zone: string | null;
	/** Instances that get no calls of this client for a while, because calls to them failed in a row. */
	readonly ejected: readonly EjectedInstance[];
	/** The option: most of a service's instances that are left out, in per cent, rounded down. */
	readonly ejectedPercentMax: number;
}

/** An instance to which calls failed in a row. No more than `ejectedPercentMax` of a service are left out for it. */
export interface EjectedInstance extends ServiceScope {
	readonly instance: string;
	readonly host: string;
	readonly port: number;
	/** How much longer it is out, in milliseconds. */
	readonly leftMs: number;
	/** Failures in a row. */
	readonly failures: number;
	/** How often it was ejected, each time soon after the time before. */
	readonly ejections: number;
}

/** What a fallback does now. */
export interface FallbackStatus {
	/** Its name; null if it has not been needed yet. */
	readonly source: string | null;
	/** Services whose answers come from it now, because the sidecar has never reported them. */
	readonly services: number;
}

/** Why a client ended. `refused`: the sidecar speaks another version of the protocol; see `error`. */
export interface Closed {
	readonly reason: 'drain' | 'close' | 'refused';
	readonly error?: SpockError;
}
