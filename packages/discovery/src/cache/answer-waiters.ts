import type { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';

import { abortedError } from '../foundation/waiting.ts';

interface Waiter {
	settle(): void;
	reject(error: SpockError): void;
}

/** Callers that wait for the next answer to one query. */
export class AnswerWaiters {
	readonly #clock: Clock;
	readonly #ended: () => void;
	readonly #all = new Set<Waiter>();

	/** Calls `ended` each time that a caller's wait ends, whatever the outcome. */
	constructor(clock: Clock, ended: () => void) {
		this.#clock = clock;
		this.#ended = ended;
	}

	get size(): number {
		return this.#all.size;
	}

	/** Settles with the next answer; rejects with ABORTED, or after `waitMs` with what `tooLate` returns. */
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

	settle(): void {
		for (const waiter of this.#takeAll()) waiter.settle();
	}

	reject(error: SpockError): void {
		for (const waiter of this.#takeAll()) waiter.reject(error);
	}

	/** A caller that starts to wait meanwhile waits for the next answer. */
	#takeAll(): Waiter[] {
		const all = [...this.#all];
		this.#all.clear();
		return all;
	}
}
