/** So many that do not wait any more are kept in the order of the newest, beyond as many as wait. */
const SLACK = 64;

/**
 * Reads that clients wait for. The newest and the oldest take turns: thousands of names that one client asks for do not delay the next
 * one's first lookup, and every read has its turn in the end, however many come after it.
 */
export class FirstReads<T> {
	/** Oldest first. */
	readonly #waiting = new Set<T>();
	/** Newest last; what does not wait any more is passed over. */
	#newest: T[] = [];
	#isOldestNext = false;

	/** One that waits already keeps its position. */
	add(one: T): void {
		if (this.#waiting.has(one)) return;
		this.#waiting.add(one);
		this.#newest.push(one);
		if (this.#newest.length > 2 * this.#waiting.size + SLACK) this.#newest = [...this.#waiting];
	}

	/** Whose turn is next; `took` reports that it was taken. */
	next(): T | undefined {
		if (this.#isOldestNext) return this.#waiting.values().next().value;
		for (;;) {
			const last = this.#newest.at(-1);
			if (last === undefined || this.#waiting.has(last)) return last;
			this.#newest.pop();
		}
	}

	/** It has its turn: the next one is of the other end. */
	took(one: T): void {
		if (this.#waiting.delete(one)) this.#isOldestNext = !this.#isOldestNext;
	}

	delete(one: T): void {
		this.#waiting.delete(one);
	}

	clear(): void {
		this.#waiting.clear();
		this.#newest = [];
	}
}
