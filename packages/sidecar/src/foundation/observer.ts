import type { ClientStatus, GoawayData, SpockError } from '@spock/protocol';

import type { NumericLimit } from './limits.ts';

/** Why a connection ended. */
export type CloseReason =
	| 'client'
	| 'error'
	| 'bad-frames'
	| 'frame-too-large'
	| 'partial-frame'
	| 'handshake'
	| 'denied'
	| 'bad-uplink'
	| 'full'
	| 'slow-consumer'
	| 'silent'
	| 'token'
	| 'shutdown';

/** How a push carries its snapshot. */
export type PushForm = 'whole' | 'delta' | 'parts';

/** A limit that a client can run into. */
export type LimitName = Exclude<
	NumericLimit,
	'outputTotalBytesMax' | 'loopDelayMsMax' | 'backlog' | 'graceMs' | 'drainTimeoutMs'
>;

/** What says that all clients together are too much. */
export type OverloadSignal = 'loop-delay' | 'in-flight' | 'output';

/** Why a TLS handshake failed. */
export type TlsFailure =
	| 'not-tls'
	| 'version'
	| 'no-certificate'
	| 'bad-certificate'
	| 'refused-by-client'
	| 'timeout'
	| 'closed'
	| 'other';

/** How a request ended whose caller said which trace it belongs to. */
export interface TracedRequest {
	readonly connection: number;
	/** The function, or `other` for one that does not exist. */
	readonly func: string;
	/** An error code, `ok`, or `cancelled`: no client waited for the answer any more. */
	readonly code: string;
	readonly durationMs: number;
	readonly traceId: string;
	/** As the caller wrote them: https://www.w3.org/TR/trace-context/ */
	readonly traceparent: string;
	readonly tracestate: string | undefined;
}

/** One condition of being ready, as `/readyz` shows it. */
export interface ReadyCheck {
	/** `phase`: the process takes work. `registry`: there are answers to give. `socket`, once it was gone: clients can come. */
	readonly name: 'phase' | 'registry' | 'socket';
	readonly ok: boolean;
	/** Why it is not; or, if it is, why it is less than it should be; else null. */
	readonly reason: string | null;
	/** Since when `ok` is what it is, in milliseconds since 1970. */
	readonly since: number;
}

/** Whether lookups should be sent to a sidecar, and why not; or why only the last known answers can be served. */
export interface ReadyState {
	readonly ready: boolean;
	readonly reasons: readonly string[];
	readonly checks: readonly ReadyCheck[];
}

/** What happens in a sidecar, for logs and metrics. Called often: implementations must be cheap and not throw. */
export interface SidecarObserver {
	/**
	 * Requests were answered; `code` is an error code, or `ok`. `func` is `other` for functions that do not exist. Those
	 * that came together and were answered at once are reported together: their duration is that of the chunk they came in.
	 */
	answered?(func: string, code: string, durationMs: number, count: number): void;
	/** A request that carried a trace context has ended; `answered` reports it too. Requests without one are not reported here. */
	traced?(request: TracedRequest): void;
	/** A call of the gRPC front has ended; both names as gRPC has them. */
	grpcAnswered?(method: string, code: string): void;
	connectionOpened?(id: number): void;
	/** A client has said who it is. */
	greeted?(client: ClientStatus): void;
	connectionClosed?(
		id: number,
		reason: CloseReason,
		bytesRead: number,
		bytesWritten: number,
		client: ClientStatus,
	): void;
	/** The sidecar ends, and waits for these clients, or cuts them off; the first ten of `count`. */
	notLeft?(clients: readonly ClientStatus[], count: number, how: 'waited for' | 'cut off'): void;
	/** A client that promised to be heard was not, for so long; over TCP its connection is closed. Null: it is heard again. */
	silent?(client: ClientStatus, silentMs: number | null): void;
	/** Refused because `connectionsMax` are open. */
	connectionRefused?(): void;
	/**
	 * A snapshot was pushed, in this form and with so many bytes; or left out because a newer one came before the client had read: then
	 * without form and bytes.
	 */
	pushed?(kind: 'sent' | 'superseded', form?: PushForm, bytes?: number): void;
	/**
	 * What a client watches, or wants to, is too long for its frames from now on: it keeps its last snapshot, marked.
	 * Told once until it fits again.
	 */
	oversize?(connection: number, name: string, refusal: SpockError): void;
	/** So many clients were asked to leave. */
	goaway?(data: GoawayData, count: number): void;
	/** A client ran into a limit: it was refused, not read for a while, or closed. */
	limited?(limit: LimitName): void;
	/** An overload has begun, by these signals; or is over, if there are none. */
	overload?(signals: readonly OverloadSignal[]): void;
	/** A connection could not be accepted, for want of open files, say; it is the kernel's error. */
	acceptFailed?(error: Error): void;
	/** A TLS handshake failed; the client was not let in. */
	tlsFailed?(reason: TlsFailure): void;
	/** A client was sent another window. */
	windowTold?(direction: 'narrowed' | 'widened'): void;
	/** It serves, and its readiness may have changed; also reported when it has not. */
	readiness?(state: ReadyState): void;
	/** A handler threw something that is no SpockError: a fault of ours, with its cause. */
	fault?(func: string, cause: unknown): void;
	phase?(phase: string): void;
	/** The socket file was gone from its path: it stands there `again`, or it could not be put back yet, and why. */
	place?(outcome: 'again' | 'gone', reason: string | null): void;
	/** The place that a successor took and lost could not be taken back: no client can connect any more. */
	placeLost?(error: unknown): void;
}

/** One observer for several: each hears what it listens to, in this order. They are plain objects of functions. */
export function observeAll<O extends object>(observers: readonly O[]): O {
	type Listener = (...args: unknown[]) => void;
	const byName = new Map<string, Listener[]>();
	for (const [name, listener] of observers.flatMap((observer): [string, Listener][] => Object.entries(observer))) {
		byName.set(name, [...(byName.get(name) ?? []), listener]);
	}
	const all = [...byName].map(([name, listeners]) => [name, listeners.length === 1 ? listeners[0] : toAll(listeners)]);
	return Object.fromEntries(all);

	function toAll(listeners: readonly Listener[]): Listener {
		return (...args) => {
			for (const listener of listeners) listener(...args);
		};
	}
}
