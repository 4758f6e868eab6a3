import type { WireError } from '../errors/spock-error.ts';
import type { TraceContext } from './trace-context.ts';

/** Client to sidecar: answered by exactly one reply or failure with the same id. */
export interface Request {
	readonly kind: 'request';
	readonly id: number;
	readonly func: string;
	readonly data: unknown;
	/** The caller stops waiting after this many milliseconds; undefined when it did not say. */
	readonly timeoutMs: number | undefined;
	/** The trace that it belongs to; undefined when it has none, or a bad one. */
	readonly trace: TraceContext | undefined;
}

/** Client to sidecar, never answered. `cancel` is the only one of version 1. */
export interface Notice {
	readonly kind: 'notice';
	readonly func: 'cancel';
	readonly data: unknown;
}

/** Sidecar to client: the answer to a request. */
export interface Reply {
	readonly kind: 'reply';
	readonly id: number;
	readonly data: unknown;
}

/** Sidecar to client: why a request has no answer; `id` is null when the request's id could not be read. */
export interface Failure {
	readonly kind: 'failure';
	readonly id: number | null;
	readonly error: WireError;
}

/** Sidecar to client, unasked: only to a connection that subscribed or said hello. */
export interface Push {
	readonly kind: 'push';
	readonly event: string;
	readonly data: unknown;
}

/** A frame that is no message. `id` is the request's if it could be read, else null. */
export interface Fault {
	readonly kind: 'fault';
	readonly id: number | null;
	readonly code: 'BAD_FRAME' | 'BAD_REQUEST' | 'FRAME_TOO_LARGE';
	readonly message: string;
	readonly details: Readonly<Record<string, unknown>>;
}

/** What a sidecar reads. */
export type ClientMessage = Request | Notice;
/** What a client reads. */
export type SidecarMessage = Reply | Failure | Push;
