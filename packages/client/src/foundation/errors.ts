import { SpockError } from '@spock/protocol';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';
import { limitChannel } from './diagnostics.ts';

/** CLOSED, where it is unknown which of the two it was. */
export function closedError(): SpockError {
	return new SpockError('CLOSED', 'the client was closed or is draining');
}

/** UNKNOWN_FUNC: there is no sidecar to call. */
export function directModeError(func: string): SpockError {
	const message = `${func}: not available in direct mode, which has no sidecar`;
	return new SpockError('UNKNOWN_FUNC', message, { details: { func } });
}

/** UNKNOWN_FUNC: the source of this name serves services alone. */
export function noKeysError(source: string): SpockError {
	return new SpockError('UNKNOWN_FUNC', `the source ${source} does not support keys`, { details: { source } });
}

/** OVERLOADED: a limit is reached, which message and details name with its value. Also publishes it. */
export function overloadedError(func: string, limit: string, value: number): SpockError {
	if (limitChannel.hasSubscribers) limitChannel.publish({ func, limit, value });
	return new SpockError('OVERLOADED', `${func}: the limit ${limit} (${value}) is reached; retry later or raise it`, {
		details: { func, [limit]: value },
	});
}

/** The end of the message of a TIMEOUT of a connected sidecar: what to check. A hanging sidecar cannot report it. */
export function silentSidecarHint(address: SocketAddress): string {
	const place = formatAddress(address);
	return `the sidecar at ${place} is connected but has not answered: check its log, its CPU and its registry, or raise timeoutMs`;
}

/** ABORTED, its cause the reason of the signal. */
export function abortedError(signal: AbortSignal | undefined, what: string): SpockError {
	return new SpockError('ABORTED', `${what}: aborted by the caller`, { cause: signal?.reason });
}

/** Throws ABORTED for a signal that is aborted. */
export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
	if (signal?.aborted) throw abortedError(signal, what);
}
