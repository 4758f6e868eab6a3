import { isAscii, isUtf8 } from 'node:buffer';

import { FRAME_BYTES_MAX, type FrameDecoderOptions, type FrameSink } from '@spock/protocol';

import { HEAD_BYTES, LENGTH_BYTES, OTHER, REPLY, REQUEST, readNumber, UTF8_FLAG } from './frame-format.ts';

const CARRY_BYTES_INITIAL = 4096;
const EMPTY = Buffer.alloc(0);

/**
 * Cuts a byte stream into frames by their lengths. A sink is given id and payload; the whole chunk becomes one string,
 * of which each payload is a slice: nothing is searched.
 */
export class FrameDecoder {
	readonly #sink: FrameSink;
	readonly #frameBytesMax: number;
	#carry: Buffer = EMPTY;
	#carryBytes = 0;
	/** What is left of a frame that was too large. */
	#skipBytes = 0;
	#stopped = false;
	#halted = false;
	/** What came behind the frame at which the owner said hold. */
	#held: Buffer = EMPTY;

	constructor(sink: FrameSink, options: FrameDecoderOptions = {}) {
		this.#sink = sink;
		this.#frameBytesMax = options.frameBytesMax ?? FRAME_BYTES_MAX;
	}

	get partialBytes(): number {
		return this.#carryBytes;
	}

	stop(): void {
		this.#stopped = true;
		this.#carry = EMPTY;
		this.#carryBytes = 0;
	}

	hold(): void {
		this.#halted = true;
	}

	release(): void {
		this.#halted = false;
		const held = this.#held;
		this.#held = EMPTY;
		if (held.length > 0) this.push(held);
	}

	push(chunk: Buffer): void {
		if (this.#halted) this.#held = Buffer.concat([this.#held, chunk]);
		else if (this.#carryBytes === 0 && this.#skipBytes === 0 && !this.#stopped) this.#read(chunk, 0);
		else this.#resume(chunk);
	}

	#resume(chunk: Buffer): void {
		let start = Math.min(this.#skipBytes, chunk.length);
		this.#skipBytes -= start;
		if (this.#carryBytes > 0) {
			start = this.#fill(chunk, start, LENGTH_BYTES);
			if (this.#carryBytes < LENGTH_BYTES) return;
			const end = LENGTH_BYTES + readNumber(this.#carry, 0);
			// Too large: the reader says so from the length alone.
			if (!this.#isTooLarge(end)) start = this.#fill(chunk, start, end);
			if (this.#carryBytes < end && !this.#isTooLarge(end)) return;
			const frame = this.#carry.subarray(0, this.#carryBytes);
			this.#carry = EMPTY;
			this.#carryBytes = 0;
			this.#read(frame, 0);
			const skipped = Math.min(this.#skipBytes, chunk.length - start);
			this.#skipBytes -= skipped;
			start += skipped;
		}
		if (start >= chunk.length || this.#stopped) return;
		if (this.#halted) this.#held = Buffer.concat([this.#held, chunk.subarray(start)]);
		else this.#read(chunk, start);
	}

	#read(bytes: Buffer, start: number): void {
		const { length } = bytes;
		const base = start + HEAD_BYTES;
		// As in the product: text that is not ASCII is read frame by frame, and checked.
		const isPlain = isAscii(bytes);
		const text = isPlain ? bytes.toString('latin1', base) : '';
		let from = start;
		while (from + LENGTH_BYTES <= length) {
			const end = from + LENGTH_BYTES + readNumber(bytes, from);
			if (this.#isTooLarge(end - from)) {
				this.#skipBytes = Math.max(0, end - length);
				this.#faultTooLarge(end - from);
			} else if (end > length) break;
			else {
				const kind = bytes[from + LENGTH_BYTES];
				if (isPlain && (kind === REQUEST || kind === REPLY)) {
					this.#tell(readNumber(bytes, from + LENGTH_BYTES + 1), text.slice(from + HEAD_BYTES - base, end - base));
				} else this.#readUncommon(bytes, from, end);
			}
			if (this.#stopped) return;
			from = end;
			if (this.#halted) break;
		}
		if (this.#halted) this.#held = Buffer.from(bytes.subarray(from));
		else if (from < length) this.#fill(bytes, from, this.#carryBytes + length - from);
	}

	#readUncommon(bytes: Buffer, from: number, end: number): void {
		const kind = (bytes[from + LENGTH_BYTES] ?? 0) & ~UTF8_FLAG;
		const isNumbered = kind === REQUEST || kind === REPLY;
		const payload = bytes.subarray(from + (isNumbered ? HEAD_BYTES : LENGTH_BYTES + 1), end);
		if ((!isNumbered && kind !== OTHER) || !isUtf8(payload)) {
			this.#sink.fault('BAD_FRAME', 'the frame is of no known kind, or not valid UTF-8');
			return;
		}
		const text = payload.toString('utf8');
		if (isNumbered) this.#tell(readNumber(bytes, from + LENGTH_BYTES + 1), text);
		else this.#sink.frame(text);
	}

	#tell(id: number, payload: string): void {
		this.#sink.numbered?.(id, payload);
	}

	/** Adds to the carry until it holds `needed` bytes or the chunk ends; gives where it ended. */
	#fill(chunk: Buffer, start: number, needed: number): number {
		const end = Math.min(chunk.length, start + needed - this.#carryBytes);
		if (end <= start) return start;
		if (this.#carryBytes + end - start > this.#carry.length) {
			const size = Math.max(CARRY_BYTES_INITIAL, needed, this.#carry.length * 2);
			const grown = Buffer.allocUnsafeSlow(size);
			this.#carry.copy(grown, 0, 0, this.#carryBytes);
			this.#carry = grown;
		}
		chunk.copy(this.#carry, this.#carryBytes, start, end);
		this.#carryBytes += end - start;
		return end;
	}

	#isTooLarge(frameBytes: number): boolean {
		return frameBytes - HEAD_BYTES > this.#frameBytesMax;
	}

	#faultTooLarge(frameBytes: number): void {
		const message = `a frame of ${frameBytes} bytes is over the limit of ${this.#frameBytesMax}`;
		this.#sink.fault('FRAME_TOO_LARGE', message);
	}
}
