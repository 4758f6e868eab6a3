import type { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';
import { abortedError } from '../foundation/errors.ts';
import { OneTimer } from '../foundation/timers.ts';

interface Waiter<T> {
	resolve(value: T): void;
	reject(error: SpockError): void;
}

/** Callers that wait for one value, each with a deadline and a signal of its own. */
export class Waiters<T = void> {
	readonly #clock: Clock;
	readonly #unref: boolean;
	readonly #waiters = new Set<Waiter<T>>();

	constructor(clock: Clock, unref: boolean) {
		this.#clock = clock;
		this.#unref = unref;
	}

	get count(): number {
		return this.#waiters.size;
	}

	/**
	 * Settled by `resolveAll` and `rejectAll`. Rejects with what `timeoutError` makes at the deadline, or with ABORTED; the signal
	 * is not aborted yet. Leaves no timer and no listener behind.
	 */
	wait(
		what: string,
		{ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
		timeoutError: () => SpockError,
	): Promise<T> {
		return new Promise((resolve, reject) => {
			const end = (): void => {
				this.#waiters.delete(waiter);
				timer.cancel();
				offAbort(signal, abort);
			};
			const waiter: Waiter<T> = {
				resolve: (value) => {
					end();
					resolve(value);
				},
				reject: (error) => {
					end();
					reject(error);
				},
			};
			const abort = (): void => waiter.reject(abortedError(signal, what));
			const timer = new OneTimer(this.#clock, () => waiter.reject(timeoutError()), this.#unref);
			timer.arm(timeoutMs);
			if (signal !== undefined) onAbort(signal, abort);
			this.#waiters.add(waiter);
		});
	}

	resolveAll(value: T): void {
		for (const { resolve } of [...this.#waiters]) resolve(value);
	}

	rejectAll(error: SpockError): void {
		for (const { reject } of [...this.#waiters]) reject(error);
	}
}
