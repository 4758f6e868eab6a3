/**
 * Bytes are collected in pieces of this size; a longer line has a piece of its own. Below what malloc takes from the kernel anew each
 * time, whose pages cost more than the copy.
 */
const BLOCK_BYTES = 64 * 1024;
/** A UTF-16 unit takes at most so many bytes in UTF-8. */
const BYTES_FOR_UNIT_MAX = 3;

/**
 * Lines as bytes, one behind the other. Encoded one by one: joined to one string, that would be made flat, measured, and copied into
 * memory of its own before it is written.
 */
export class LineBytes {
	#block: Buffer = Buffer.alloc(0);
	/** Of the block: what was taken, and what is filled. */
	#takenBytes = 0;
	#usedBytes = 0;
	/** Of blocks that have no room. */
	#pieces: Buffer[] = [];
	#pieceBytes = 0;

	/** Bytes of lines that were not taken. */
	get bytes(): number {
		return this.#pieceBytes + this.#usedBytes - this.#takenBytes;
	}

	/** Puts a line behind the others. */
	add(line: string): void {
		const bytesMax = line.length * BYTES_FOR_UNIT_MAX;
		if (bytesMax > this.#block.length - this.#usedBytes) {
			this.#endPiece();
			this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytesMax));
			this.#takenBytes = 0;
			this.#usedBytes = 0;
		}
		this.#usedBytes += this.#block.write(line, this.#usedBytes);
	}

	/** Gives all of them, in order, and forgets them. They are not written over. */
	take(): readonly Buffer[] {
		this.#endPiece();
		const pieces = this.#pieces;
		this.#pieces = [];
		this.#pieceBytes = 0;
		return pieces;
	}

	#endPiece(): void {
		if (this.#usedBytes === this.#takenBytes) return;
		const piece = this.#block.subarray(this.#takenBytes, this.#usedBytes);
		this.#takenBytes = this.#usedBytes;
		this.#pieces.push(piece);
		this.#pieceBytes += piece.length;
	}
}
