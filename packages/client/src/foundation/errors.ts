import { SpockError } from '@spock/protocol';
import { limitChannel } from './diagnostics.ts';

/** CLOSED, for those who do not know which of the two it was. */
export function closedError(): SpockError {
	return new SpockError('CLOSED', 'the client was closed or is draining');
}

/** OVERLOADED: what was asked for is past a limit, which message and details name together with its value. Tells it, too. */
export function overloadedError(func: string, limit: string, value: number): SpockError {
	if (limitChannel.hasSubscribers) limitChannel.publish({ func, limit, value });
	return new SpockError('OVERLOADED', `${func}: the limit ${limit} (${value}) is reached; retry later or raise it`, {
		details: { func, [limit]: value },
	});
}

/** ABORTED, its cause the reason of the signal. */
export function abortedError(signal: AbortSignal | undefined, what: string): SpockError {
	return new SpockError('ABORTED', `${what}: aborted by the caller`, { cause: signal?.reason });
}

/** Throws ABORTED for a signal that is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
	if (signal?.aborted) throw abortedError(signal, what);
}
