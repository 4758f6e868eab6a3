/** So many that do not wait any more are kept in the order of the newest, beyond as many as wait. */
const SLACK = 64;

/** What an {@link UrgentQuestions} needs to know of a question. */
export interface Urgent {
	/** No turn before this. */
	readonly dueAtMs: number;
}

/**
 * Questions that wait for a turn before all others. The newest and the oldest take turns: thousands of names that one client asks for
 * do not delay the next one's first lookup, and whoever waits has a turn in the end, however many come after.
 */
export class UrgentQuestions<T extends Urgent = Urgent> {
	/** Oldest first. */
	readonly #waiting = new Set<T>();
	/** Newest last; what does not wait any more is passed over. */
	#newest: T[] = [];
	#isOldestNext = false;

	/** Who waits already keeps the place. */
	add(one: T): void {
		if (this.#waiting.has(one)) return;
		this.#waiting.add(one);
		this.#newest.push(one);
		if (this.#newest.length > 2 * this.#waiting.size + SLACK) this.#newest = [...this.#waiting];
	}

	has(one: T): boolean {
		return this.#waiting.has(one);
	}

	/** Whose turn is next; `took` says that it was taken. One that is not due yet is next only where nobody else is. */
	next(nowMs: number): T | undefined {
		const oldest = this.#waiting.values().next().value;
		const newest = this.#last();
		if (oldest === undefined || newest === undefined) return oldest;
		const [first, second] = this.#isOldestNext ? [oldest, newest] : [newest, oldest];
		return first.dueAtMs > nowMs && second.dueAtMs < first.dueAtMs ? second : first;
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

	#last(): T | undefined {
		for (;;) {
			const last = this.#newest.at(-1);
			if (last === undefined || this.#waiting.has(last)) return last;
			this.#newest.pop();
		}
	}
}
