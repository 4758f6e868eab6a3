import type { WireError } from './spock-error.ts';

// Writers put `id` first and `data` last: a reader's fast path then finds the payload with two comparisons. Frames are
// strings and not buffers, because joining the frames of a tick and writing them as latin1 costs less than copying bytes.

/** The payload of a member `data`: JSON text that may be serialised once and written many times. */
export type PayloadText = string & { readonly __payload?: never };

/**
 * Serialises a payload once. `undefined` is `null`, as in the protocol. Throws a TypeError for what JSON cannot carry
 * (a cycle, a BigInt, a function).
 */
export function encodePayload(data: unknown): PayloadText {
	if (data === undefined) return 'null';
	const text = JSON.stringify(data) as string | undefined;
	if (text === undefined) throw new TypeError(`data must be a JSON value, not a ${typeof data}`);
	return text;
}

/** Everything of a request behind its id. Callers memoise it by function and data. */
export function encodeRequestTail(func: string, payload: PayloadText, timeoutMs?: number): string {
	const timeout = timeoutMs === undefined ? '' : `,"timeoutMs":${timeoutMs}`;
	const data = payload === 'null' ? '' : `,"data":${payload}`;
	return `,"func":${JSON.stringify(func)}${timeout}${data}}\n`;
}

/** A request line from an id and a tail of {@link encodeRequestTail}, which the members of `encodeTrace` may go before. */
export function encodeRequest(id: number, tail: string): string {
	return `{"id":${id}${tail}`;
}

/** Everything of a reply behind its id. Sidecars send it after the id as it came. */
export function encodeReplyTail(payload: PayloadText): string {
	return `,"data":${payload}}\n`;
}

/** A reply line. */
export function encodeReply(id: number, payload: PayloadText): string {
	return `{"id":${id}${encodeReplyTail(payload)}`;
}

/** A failure line. */
export function encodeFailure(id: number | null, error: WireError): string {
	return `{"id":${id},"error":${JSON.stringify(error)}}\n`;
}

/** A push line. */
export function encodePush(event: string, payload: PayloadText): string {
	return `{"event":${JSON.stringify(event)},"data":${payload}}\n`;
}

/** A notice line. `cancel` is the only notice of version 1. */
export function encodeCancel(id: number): string {
	return `{"func":"cancel","data":{"id":${id}}}\n`;
}
