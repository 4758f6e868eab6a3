import type { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';

import { abortedError } from '../foundation/waiting.ts';

interface Waiter {
	settle(): void;
	reject(error: SpockError): void;
}

/** Those who wait for the next answer to one question. */
export class AnswerWaiters {
	readonly #clock: Clock;
	readonly #ended: () => void;
	readonly #all = new Set<Waiter>();

	/** `ended` is called each time that one of them has waited, whatever came of it. */
	constructor(clock: Clock, ended: () => void) {
		this.#clock = clock;
		this.#ended = ended;
	}

	get size(): number {
		return this.#all.size;
	}

	/** Settles as the next answer does; rejects with ABORTED, or after so many milliseconds with what `tooLate` gives. */
	wait(waitMs: number, tooLate: () => SpockError, signal: AbortSignal | undefined): Promise<void> {
		return new Promise((resolve, reject) => {
			const end = (): void => {
				this.#clock.clearTimeout(timer);
				offAbort(signal, abort);
				this.#all.delete(waiter);
				this.#ended();
			};
			const waiter: Waiter = {
				settle: () => {
					end();
					resolve();
				},
				reject: (error) => {
					end();
					reject(error);
				},
			};
			const abort = (): void => waiter.reject(abortedError(signal));
			const timer = this.#clock.setTimeout(() => waiter.reject(tooLate()), waitMs);
			if (signal !== undefined) onAbort(signal, abort);
			this.#all.add(waiter);
		});
	}

	/** There is an answer. */
	settle(): void {
		for (const waiter of this.#takeAll()) waiter.settle();
	}

	/** There is none. */
	reject(error: SpockError): void {
		for (const waiter of this.#takeAll()) waiter.reject(error);
	}

	/** Who begins to wait meanwhile waits for the answer after this. */
	#takeAll(): Waiter[] {
		const all = [...this.#all];
		this.#all.clear();
		return all;
	}
}
