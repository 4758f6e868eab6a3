import type { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { abortedError } from './call.ts';

interface Waiter {
	resolve(): void;
	reject(error: SpockError): void;
}

/** Those who wait for one thing to happen, each with a deadline and a signal of its own. */
export class Waiters {
	readonly #clock: Clock;
	readonly #unref: boolean;
	readonly #waiters = new Set<Waiter>();

	constructor(clock: Clock, unref: boolean) {
		this.#clock = clock;
		this.#unref = unref;
	}

	get count(): number {
		return this.#waiters.size;
	}

	/**
	 * Resolves at `resolveAll`. Rejects with the error of `rejectAll`, with what `timeoutError` makes at the deadline, or
	 * with ABORTED. Leaves no timer and no listener behind.
	 */
	wait(
		what: string,
		{ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
		timeoutError: () => SpockError,
	): Promise<void> {
		if (signal?.aborted) return Promise.reject(abortedError(signal, what));
		return new Promise((resolve, reject) => {
			const end = (): void => {
				this.#waiters.delete(waiter);
				this.#clock.clearTimeout(timer);
				signal?.removeEventListener('abort', onAbort);
			};
			const waiter: Waiter = {
				resolve: () => {
					end();
					resolve();
				},
				reject: (error) => {
					end();
					reject(error);
				},
			};
			const onAbort = (): void => waiter.reject(abortedError(signal as AbortSignal, what));
			const timer = this.#clock.setTimeout(() => waiter.reject(timeoutError()), timeoutMs);
			if (this.#unref) timer.unref?.();
			signal?.addEventListener('abort', onAbort, { once: true });
			this.#waiters.add(waiter);
		});
	}

	resolveAll(): void {
		for (const waiter of [...this.#waiters]) waiter.resolve();
	}

	rejectAll(error: SpockError): void {
		for (const waiter of [...this.#waiters]) waiter.reject(error);
	}
}
