interface Waiting<T> {
	resolve(result: IteratorResult<T>): void;
	reject(error: unknown): void;
}

/** Answers one `next`. */
type Answer<T> = (waiting: Waiting<T>) => void;

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * An async iterator that holds one value: a consumer slower than its producer gets the newest, and never a queue. `open`
 * starts the producer at the first `next`; `release` is called once, whichever way the iteration ends.
 */
export class NewestOnly<T> implements AsyncIterableIterator<T> {
	readonly #open: () => void;
	readonly #release: () => void;
	#state: 'idle' | 'open' | 'ended' = 'idle';
	/** What the following `next` gets: the newest value, or the error that ended the iteration. */
	#kept: Answer<T> | undefined;
	#waiting: Waiting<T>[] = [];

	constructor(open: () => void, release: () => void) {
		this.#open = open;
		this.#release = release;
	}

	/** Resolves a waiting `next`, or retains the value in place of the one before. True if that was never read. */
	put(value: T): boolean {
		if (this.#state === 'ended') return false;
		const isUnread = this.#kept !== undefined;
		this.#answer(({ resolve }) => resolve({ value, done: false }));
		return isUnread;
	}

	/** Ends the iteration; with an error, the next `next` rejects. A value not yet taken is dropped. */
	end(error?: unknown): void {
		if (this.#state === 'ended') return;
		const wasOpen = this.#state === 'open';
		this.#state = 'ended';
		this.#kept = undefined;
		if (error !== undefined) this.#answer(({ reject }) => reject(error));
		const waiting = this.#waiting;
		this.#waiting = [];
		if (wasOpen) this.#release();
		for (const { resolve } of waiting) resolve(DONE);
	}

	next(): Promise<IteratorResult<T>> {
		if (this.#state === 'idle') {
			this.#state = 'open';
			try {
				this.#open();
			} catch (error) {
				this.end(error);
			}
		}
		return new Promise((resolve, reject) => {
			const kept = this.#kept;
			this.#kept = undefined;
			if (kept !== undefined) kept({ resolve, reject });
			else if (this.#state === 'ended') resolve(DONE);
			else this.#waiting.push({ resolve, reject });
		});
	}

	return(): Promise<IteratorResult<T>> {
		this.end();
		return Promise.resolve(DONE);
	}

	[Symbol.asyncIterator](): this {
		return this;
	}

	#answer(answer: Answer<T>): void {
		const waiting = this.#waiting.shift();
		if (waiting === undefined) this.#kept = answer;
		else answer(waiting);
	}
}
