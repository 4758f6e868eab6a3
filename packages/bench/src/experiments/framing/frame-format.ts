// The layout of a binary frame, as both sides of the experiment write and read it:
//
//   0        4      5        9
//   | length | kind | id     | payload             a request (what stands behind its id) or a reply (its JSON)
//   | length | kind | JSON line                    every other frame
//
// `length` counts the bytes behind itself. Lengths and ids are four bytes of seven bits each, high bits first: a frame of
// ASCII is then ASCII as a whole, so one native look at the text of a tick tells whether it may leave as latin1. With
// eight bits each frame would have to be looked at by itself. An id of more than 28 bits travels as another frame.

/** Kinds of frames; the values are those on the wire. */
export const REQUEST = 1;
export const REPLY = 2;
export const OTHER = 3;
/** A bit of the kind: the payload is UTF-8 and not ASCII alone. */
export const UTF8_FLAG = 0x40;

/** Bytes of the length, and of a frame of a request or a reply before its payload. */
export const LENGTH_BYTES = 4;
export const HEAD_BYTES = 9;
/** Bytes of kind and id, which `length` counts. */
const KIND_AND_ID_BYTES = 5;

const ID_END: number = 2 ** 28;
/** Ids with the same high bits share the beginning of their frames, if these are equally long. */
const LOW_BITS = 7;
const LOW_MASK: number = (1 << LOW_BITS) - 1;
const LOW_CHARACTERS: readonly string[] = Array.from({ length: 1 << LOW_BITS }, (_, code) => String.fromCharCode(code));

/** The head of the last frame of a kind but for the last character of its id: the next one mostly has the same. */
class LastHead {
	readonly #kind: number;
	#block = -1;
	#length = -1;
	#text = '';

	constructor(kind: number) {
		this.#kind = kind;
	}

	frame(id: number, payload: string): string {
		const block = id >> LOW_BITS;
		const { length } = payload;
		if (block !== this.#block || length !== this.#length) {
			this.#block = block;
			this.#length = length;
			this.#text = headText(this.#kind, length + KIND_AND_ID_BYTES) + numberText(block).slice(1);
		}
		return this.#text + (LOW_CHARACTERS[id & LOW_MASK] as string) + payload;
	}
}

const requestHead = new LastHead(REQUEST);
const replyHead = new LastHead(REPLY);

/** A request from an id and what stands behind it. */
export function requestFrame(id: number, tail: string): string {
	return id < ID_END ? requestHead.frame(id, tail) : otherFrame(`{"id":${id}${tail}`);
}

/** A reply from an id and the text of its payload. */
export function replyFrame(id: number, payload: string): string {
	return id < ID_END ? replyHead.frame(id, payload) : otherFrame(`{"id":${id},"data":${payload}}`);
}

/** A frame of any other kind. */
export function otherFrame(json: string): string {
	return headText(OTHER, json.length + 1) + json;
}

/** Length and kind. */
export function headText(kind: number, length: number): string {
	return numberText(length) + String.fromCharCode(kind);
}

function numberText(value: number): string {
	return String.fromCharCode(
		(value >> 21) & LOW_MASK,
		(value >> 14) & LOW_MASK,
		(value >> 7) & LOW_MASK,
		value & LOW_MASK,
	);
}

/** A number of four bytes. */
export function readNumber(bytes: Uint8Array, at: number): number {
	return (
		((bytes[at] as number) << 21) |
		((bytes[at + 1] as number) << 14) |
		((bytes[at + 2] as number) << 7) |
		(bytes[at + 3] as number)
	);
}
