import { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';

/** The ABORTED of a query whose signal was aborted; its cause is the signal's reason. */
export function abortedError(signal: AbortSignal | undefined): SpockError {
	return new SpockError('ABORTED', 'the caller aborted the call', { cause: signal?.reason });
}

/** Throws ABORTED for a signal that is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted) throw abortedError(signal);
}

/** The outcome, or undefined when it takes longer than this. */
export function settledWithin<T>(clock: Clock, limitMs: number, outcome: Promise<T>): Promise<T | undefined> {
	return new Promise((resolve, reject) => {
		const timer = clock.setTimeout(() => resolve(undefined), limitMs);
		timer.unref?.();
		outcome.then(resolve, reject).finally(() => clock.clearTimeout(timer));
	});
}

/** Resolves after this time; rejects with ABORTED when the signal aborts. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve, reject) => {
		const abort = (): void => {
			clock.clearTimeout(timer);
			offAbort(signal, abort);
			reject(abortedError(signal));
		};
		const timer = clock.setTimeout(() => {
			offAbort(signal, abort);
			resolve();
		}, delayMs);
		if (signal !== undefined) onAbort(signal, abort);
	});
}
