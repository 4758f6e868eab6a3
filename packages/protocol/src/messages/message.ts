import type { WireError } from '../errors/spock-error.ts';
import { isDeeperThan } from '../foundation/json-depth.ts';
import { FUNC_LENGTH_MAX, ID_MAX, JSON_DEPTH_MAX, TIMEOUT_MS_MAX } from '../foundation/limits.ts';
import { isInteger, isObject, show } from '../foundation/values.ts';
import { readTraceContext, type TraceContext } from './trace-context.ts';

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

/** The functions that are never answered: `cancel`, and those of the feature `events`. */
export const noticeNames = ['cancel', 'uplink', 'event', 'ack', 'nack', 'term', 'extend'] as const;
export type NoticeName = (typeof noticeNames)[number];

/** Client to sidecar, never answered. */
export interface Notice {
	readonly kind: 'notice';
	readonly func: NoticeName;
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

type Members = Readonly<Record<string, unknown>>;

/** Reads one frame as a sidecar does: a request, a notice, or a fault that says what to answer. Never throws. */
export function readClientMessage(text: string): ClientMessage | Fault {
	const members = parseObject(text);
	if (typeof members === 'string') return badFrame(members);
	const { id, func, data = null, timeoutMs, traceparent, tracestate } = members;
	if (id === undefined) {
		const notice = noticeNames.find((name) => name === func);
		if (notice !== undefined) return { kind: 'notice', func: notice, data };
		return badRequest(null, 'id', 'a request needs an id');
	}
	if (!isId(id)) return badRequest(null, 'id', `id must be an integer from 0 to ${ID_MAX}, not ${show(id)}`);
	// -0 is 0 on the wire and must be so in every comparison.
	const requestId = id + 0;
	if (typeof func !== 'string' || func.length === 0 || func.length > FUNC_LENGTH_MAX) {
		return badRequest(
			requestId,
			'func',
			`func must be a string of 1 to ${FUNC_LENGTH_MAX} characters, not ${show(func)}`,
		);
	}
	if (timeoutMs !== undefined && !isTimeoutMs(timeoutMs)) {
		return badRequest(
			requestId,
			'timeoutMs',
			`timeoutMs must be an integer from 1 to ${TIMEOUT_MS_MAX}, not ${show(timeoutMs)}`,
		);
	}
	const trace = traceparent === undefined ? undefined : readTraceContext(traceparent, tracestate);
	return { kind: 'request', id: requestId, func, data, timeoutMs, trace };
}

/**
 * Reads one frame as a client does: a reply, a failure, a push, or a fault. A frame with an id that no request can have
 * (`null` in a reply, `"length"`, -1, 1.5) is a fault, never a TypeError further on. Never throws.
 */
export function readSidecarMessage(text: string): SidecarMessage | Fault {
	const members = parseObject(text);
	if (typeof members === 'string') return badFrame(members);
	const { id, data = null, error, event } = members;
	if (id === undefined) {
		if (typeof event === 'string' && event.length > 0) return { kind: 'push', event, data };
		return badRequest(null, 'id', 'the frame has neither an id nor an event');
	}
	if (error !== undefined && error !== null) {
		if (id !== null && !isId(id)) return badRequest(null, 'id', 'the id of the failure is not a request id');
		return { kind: 'failure', id: id === null ? null : id + 0, error: error as WireError };
	}
	if (!isId(id)) return badRequest(null, 'id', 'the id of the reply is not a request id');
	return { kind: 'reply', id: id + 0, data };
}

/** True for a request id: an integer from 0 to 4294967295. */
export function isId(value: unknown): value is number {
	return isInteger(value, 0, ID_MAX);
}

/** True for a deadline that a timer can keep: an integer from 1 to 2147483647 milliseconds. */
export function isTimeoutMs(value: unknown): value is number {
	return isInteger(value, 1, TIMEOUT_MS_MAX);
}

/** The members of the frame, or what is wrong with it. */
function parseObject(text: string): Members | string {
	if (isDeeperThan(text, JSON_DEPTH_MAX)) return `the frame nests deeper than ${JSON_DEPTH_MAX} levels`;
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		// V8's message quotes the text, which is not repeated to a peer.
		return 'the frame is not JSON';
	}
	return isObject(value) ? value : 'the frame is not a JSON object';
}

function badFrame(message: string): Fault {
	return { kind: 'fault', id: null, code: 'BAD_FRAME', message, details: {} };
}

function badRequest(id: number | null, path: string, message: string): Fault {
	return { kind: 'fault', id, code: 'BAD_REQUEST', message, details: { path } };
}
