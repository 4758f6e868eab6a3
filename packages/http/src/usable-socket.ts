import type { Socket } from 'node:net';

import type { Clock } from '@spock/protocol/internal';

/** How a socket is waited for. */
export interface UsableSocketOptions {
	/** True for one that was idle before: it may have been closed by the other side a moment ago. */
	readonly isReused: boolean;
	readonly connectTimeoutMs: number;
	readonly clock: Clock;
	/** Told when the socket's own time-out passes, which is the caller's. */
	readonly onTimeout: () => void;
}

/**
 * Calls back when a request can be written to a socket, or with what is wrong with it: nothing was written then. A new socket
 * is waited for until it is connected, TLS included. A reused one is used when the event loop has polled once more: what the
 * kernel has of it by now, such as its end, is read before that. Gives what stops the waiting.
 */
export function whenUsable(
	socket: Socket,
	{ isReused, connectTimeoutMs, clock, onTimeout }: UsableSocketOptions,
	done: (problem?: Error) => void,
): () => void {
	const isEncrypted = 'encrypted' in socket;
	const isConnecting =
		socket.connecting || (socket as Socket & { readonly secureConnecting?: boolean }).secureConnecting === true;
	if (!isConnecting && !isReused) {
		done();
		return () => undefined;
	}
	const connected = isEncrypted ? 'secureConnect' : 'connect';
	const settle = (problem?: Error): void => {
		stop();
		done(problem);
	};
	const onUsable = (): void => settle(socket.writable ? undefined : closedError());
	const onEnd = (): void => settle(closedError());
	const onLate = (): void => {
		const message = `no connection within ${connectTimeoutMs} ms`;
		socket.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
	};
	// The first comes before the loop polls, where this runs in an answer to a poll; the second comes after it.
	let turn = isConnecting
		? undefined
		: setImmediate(() => {
				turn = setImmediate(onUsable);
			});
	const timer = isConnecting ? clock.setTimeout(onLate, connectTimeoutMs) : undefined;
	if (isConnecting) socket.once(connected, onUsable);
	socket.once('error', settle).once('end', onEnd).once('close', onEnd).on('timeout', onTimeout);
	const stop = (): void => {
		clearImmediate(turn);
		clock.clearTimeout(timer);
		socket
			.off(connected, onUsable)
			.off('error', settle)
			.off('end', onEnd)
			.off('close', onEnd)
			.off('timeout', onTimeout);
	};
	return stop;
}

function closedError(): Error {
	return Object.assign(new Error('it closed the connection before a request was sent'), { code: 'ECONNRESET' });
}
