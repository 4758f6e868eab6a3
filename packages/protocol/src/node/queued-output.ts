/**
 * A longer line is handed to the socket in slices of this length, as fast as the peer takes them: the rest stays the string that it is, which
 * many connections may share. Written at once, each connection would have a copy of its own, and TLS an encrypted one.
 */
export const SLICE_CHARACTERS = 65_536;

/** Output behind what a socket has: a long line, and what was written after it. */
export class QueuedOutput {
	#texts: string[] = [];
	#bytes = 0;
	/** How much of the first text was taken. */
	#taken = 0;

	/** What is queued, in bytes of UTF-8. */
	get bytes(): number {
		return this.#bytes;
	}

	push(text: string): void {
		if (text === '') return;
		this.#texts.push(text);
		this.#bytes += Buffer.byteLength(text);
	}

	/** Takes the next slice; undefined if nothing is queued. */
	take(): string | undefined {
		const [first] = this.#texts;
		if (first === undefined) return undefined;
		let end = this.#taken + SLICE_CHARACTERS;
		// The two halves of a character outside the BMP are encoded together.
		if (isHighSurrogate(first.charCodeAt(end - 1))) end++;
		const slice = first.slice(this.#taken, end);
		this.#bytes -= Buffer.byteLength(slice);
		this.#taken = end;
		if (end >= first.length) {
			this.#texts.shift();
			this.#taken = 0;
		}
		return slice;
	}

	/** Takes everything. */
	takeAll(): string {
		const [first = '', ...others] = this.#texts;
		const all = first.slice(this.#taken) + others.join('');
		this.clear();
		return all;
	}

	clear(): void {
		this.#texts = [];
		this.#bytes = 0;
		this.#taken = 0;
	}
}

function isHighSurrogate(code: number): boolean {
	return code >= 0xd800 && code <= 0xdbff;
}
