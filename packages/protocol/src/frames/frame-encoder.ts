import { SpockError, type WireError } from '../errors/spock-error.ts';

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

/** Everything of a request after its id. Callers memoise it by function and data. */
export function encodeRequestTail(func: string, payload: PayloadText, timeoutMs?: number): string {
	const timeout = timeoutMs === undefined ? '' : `,"timeoutMs":${timeoutMs}`;
	const data = payload === 'null' ? '' : `,"data":${payload}`;
	return `,"func":${JSON.stringify(func)}${timeout}${data}}\n`;
}

/** A request line from an id and a tail of {@link encodeRequestTail}, which members of `encodeTrace` may precede. */
export function encodeRequest(id: number, tail: string): string {
	return `{"id":${id}${tail}`;
}

/** Everything of a reply after its id. Sidecars send the id as they received it. */
export function encodeReplyTail(payload: PayloadText): string {
	return `,"data":${payload}}\n`;
}

/** The same in pieces: a long payload stays the one string that many replies share. */
export function encodeReplyPieces(payload: PayloadText): readonly string[] {
	return [',"data":', payload, '}\n'];
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

/**
 * True if the line, LF not counted, is at most `frameBytesMax` bytes of UTF-8. A line whose worst case fits (three bytes
 * for each UTF-16 unit) is not measured.
 */
export function fitsFrame(line: string, frameBytesMax: number): boolean {
	return (line.length - 1) * 3 <= frameBytesMax || Buffer.byteLength(line) - 1 <= frameBytesMax;
}

/** FRAME_TOO_LARGE: `what`, whose frame has `frameBytes` bytes, is over the limit. */
export function frameTooLargeError(what: string, frameBytes: number, frameBytesMax: number): SpockError {
	const remedy = 'raise frameBytesMax, at the sidecar and at its client, or ask for less';
	const message = `${what} of ${frameBytes} bytes is over the limit of ${frameBytesMax}: ${remedy}`;
	return new SpockError('FRAME_TOO_LARGE', message, { details: { frameBytes, frameBytesMax } });
}

const BLOCK = 1000;
/** '000' to '999'. */
const LAST_DIGITS: readonly string[] = Array.from({ length: BLOCK }, (_, index) => String(index).padStart(3, '0'));

/**
 * The beginnings of frames, `{"id":N`, of one connection. Ids follow one another, so all digits but the last three are
 * printed once for a thousand of them: measured as a third of the cost of printing each number.
 */
export class FrameHeads {
	#block = -1;
	#blockHead = '';

	/** The beginning of a frame with this id. */
	head(id: number): string {
		if (id < BLOCK) return `{"id":${id}`;
		const block = Math.floor(id / BLOCK);
		if (block !== this.#block) {
			this.#block = block;
			this.#blockHead = `{"id":${block}`;
		}
		return this.#blockHead + (LAST_DIGITS[id - block * BLOCK] as string);
	}
}
