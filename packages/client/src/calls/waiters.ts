import type { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';
import { OneTimer } from '../foundation/one-timer.ts';
import { abortedError } from './call.ts';

/** Those who wait for one thing to happen, each with a deadline and a signal of its own. */
export class Waiters {
	readonly #clock: Clock;
	readonly #unref: boolean;
	readonly #waiters = new Set<(error?: SpockError) => void>();

	constructor(clock: Clock, unref: boolean) {
		this.#clock = clock;
		this.#unref = unref;
	}

	get count(): number {
		return this.#waiters.size;
	}

	/**
	 * Resolves or rejects at `endAll`. Rejects with what `timeoutError` makes at the deadline, or with ABORTED; the signal
	 * is not aborted yet. Leaves no timer and no listener behind.
	 */
	wait(
		what: string,
		{ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
		timeoutError: () => SpockError,
	): Promise<void> {
		return new Promise((resolve, reject) => {
			const end = (error?: SpockError): void => {
				this.#waiters.delete(end);
				timer.cancel();
				offAbort(signal, abort);
				if (error === undefined) resolve();
				else reject(error);
			};
			const abort = (): void => end(abortedError(signal as AbortSignal, what));
			const timer = new OneTimer(this.#clock, () => end(timeoutError()), this.#unref);
			timer.arm(timeoutMs);
			if (signal !== undefined) onAbort(signal, abort);
			this.#waiters.add(end);
		});
	}

	/** What they waited for has happened; with an error, it never will. */
	endAll(error?: SpockError): void {
		for (const end of [...this.#waiters]) end(error);
	}
}
