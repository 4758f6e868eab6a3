import { SpockError } from '@spock/protocol';

/** The ABORTED of a question whose signal was aborted; its cause is the signal's reason. */
export function abortedError(signal: AbortSignal): SpockError {
	return new SpockError('ABORTED', 'the caller aborted the call', { cause: signal.reason });
}

/** Throws ABORTED for a signal that is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
	if (signal?.aborted) throw abortedError(signal);
}
