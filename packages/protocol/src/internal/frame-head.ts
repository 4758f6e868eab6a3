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
