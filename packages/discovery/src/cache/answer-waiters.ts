import type { SpockError } from '@spock/protocol';
import { type Clock, isFinal, offAbort, onAbort, type TimerHandle } from '@spock/protocol/internal';

import { abortedError } from '../foundation/waiting.ts';

/** A query that has failed is sent again at least this often while callers wait for it, whatever the back-off of its watch. */
const ASK_AGAIN_MS = 1000;

interface Waiter {
	/** False for a caller that wants to know why there is no answer now. */
	readonly isPatient: boolean;
	settle(): void;
	reject(error: SpockError): void;
}

/** Callers that wait for the next answer to one query. */
export class AnswerWaiters {
	readonly #clock: Clock;
	readonly #ended: () => void;
	readonly #askAgain: () => void;
	readonly #all = new Set<Waiter>();
	/** True from a failure to the next answer. */
	#isFailing = false;
	#askedAtMs = Number.NEGATIVE_INFINITY;
	#timer: TimerHandle | undefined;

	/**
	 * Calls `ended` each time that a caller's wait ends, whatever the outcome; and `askAgain` every {@link ASK_AGAIN_MS} while one waits
	 * and the registry fails.
	 */
	constructor(clock: Clock, ended: () => void, askAgain: () => void) {
		this.#clock = clock;
		this.#ended = ended;
		this.#askAgain = askAgain;
	}

	get size(): number {
		return this.#all.size;
	}

	/**
	 * Settles with the next answer; rejects with ABORTED, after `waitMs` with what `tooLate` returns, or with a failure that is final. One
	 * that is not patient rejects with any failure.
	 */
	wait(waitMs: number, tooLate: () => SpockError, signal: AbortSignal | undefined, isPatient = true): Promise<void> {
		return new Promise((resolve, reject) => {
			const end = (): void => {
				this.#clock.clearTimeout(timer);
				offAbort(signal, abort);
				this.#all.delete(waiter);
				if (this.#all.size === 0) this.#rest();
				this.#ended();
			};
			const waiter: Waiter = {
				isPatient,
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
			this.#arm();
		});
	}

	settle(): void {
		this.#isFailing = false;
		this.#rest();
		for (const waiter of this.#takeAll()) waiter.settle();
	}

	reject(error: SpockError): void {
		for (const waiter of this.#takeAll()) waiter.reject(error);
	}

	/** The registry has failed and is asked again: patient callers go on waiting, unless the failure is final. */
	failed(error: SpockError): void {
		this.#isFailing = true;
		for (const waiter of [...this.#all]) if (!waiter.isPatient || isFinal(error)) waiter.reject(error);
		this.#arm();
	}

	/** A caller that starts to wait meanwhile waits for the next answer. */
	#takeAll(): Waiter[] {
		const all = [...this.#all];
		this.#all.clear();
		return all;
	}

	#arm(): void {
		if (this.#timer !== undefined || !this.#isFailing || this.#all.size === 0) return;
		const delayMs = Math.max(0, this.#askedAtMs + ASK_AGAIN_MS - this.#clock.now());
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			this.#askedAtMs = this.#clock.now();
			this.#askAgain();
			this.#arm();
		}, delayMs);
		this.#timer.unref?.();
	}

	#rest(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}
