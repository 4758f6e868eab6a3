/**
 * An async iterator that holds one value: a consumer slower than its producer gets the newest, and never a queue. `open`
 * starts the producer at the first `next`; `release` is called once, whichever way the iteration ends.
 */
export class NewestOnly<T> implements AsyncIterableIterator<T> {
	readonly #open: (iterator: NewestOnly<T>) => void;
	readonly #release: (iterator: NewestOnly<T>) => void;
	#state: 'idle' | 'open' | 'ended' = 'idle';
	#value: { readonly value: T } | undefined;
	#error: { readonly error: unknown } | undefined;
	#waiting: { resolve(result: IteratorResult<T>): void; reject(error: unknown): void }[] = [];

	constructor(open: (iterator: NewestOnly<T>) => void, release: (iterator: NewestOnly<T>) => void) {
		this.#open = open;
		this.#release = release;
	}

	/** Gives a value to whoever waits for one, or keeps it in the place of the one before. */
	put(value: T): void {
		if (this.#state === 'ended') return;
		const waiting = this.#waiting.shift();
		if (waiting !== undefined) waiting.resolve({ value, done: false });
		else this.#value = { value };
	}

	/** Ends the iteration; with an error, the next `next` rejects. A value not yet taken is dropped. */
	end(error?: unknown): void {
		if (this.#state === 'ended') return;
		const wasOpen = this.#state === 'open';
		this.#state = 'ended';
		this.#value = undefined;
		const waiting = this.#waiting;
		this.#waiting = [];
		if (error !== undefined && waiting.length === 0) this.#error = { error };
		if (wasOpen) this.#release(this);
		for (const [index, { resolve, reject }] of waiting.entries()) {
			if (error !== undefined && index === 0) reject(error);
			else resolve({ value: undefined, done: true });
		}
	}

	next(): Promise<IteratorResult<T>> {
		if (this.#state === 'idle') {
			this.#state = 'open';
			try {
				this.#open(this);
			} catch (error) {
				this.end(error);
			}
		}
		if (this.#value !== undefined) {
			const { value } = this.#value;
			this.#value = undefined;
			return Promise.resolve({ value, done: false });
		}
		if (this.#error !== undefined) {
			const { error } = this.#error;
			this.#error = undefined;
			return Promise.reject(error);
		}
		if (this.#state === 'ended') return Promise.resolve({ value: undefined, done: true });
		return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
	}

	return(): Promise<IteratorResult<T>> {
		this.end();
		return Promise.resolve({ value: undefined, done: true });
	}

	[Symbol.asyncIterator](): this {
		return this;
	}
}
