import type { Socket } from 'node:net';

import { type Clock, clearImmediate, isError, setImmediate } from '@spock/protocol/internal';

/** How a socket is waited for. */
export interface UsableSocketOptions {
	/** True for one that was idle before: it may have been closed by the other side a moment ago. */
	readonly isReused: boolean;
	readonly connectTimeoutMs: number;
	readonly clock: Clock;
	/** Called when the socket's own time-out passes, which is the caller's. */
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
	const isNew = isConnecting(socket);
	if (!isNew && !isReused) {
		done();
		return () => undefined;
	}
	const connected = 'encrypted' in socket ? 'secureConnect' : 'connect';
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
	let turn = isNew
		? undefined
		: setImmediate(() => {
				turn = setImmediate(onUsable);
			});
	const timer = isNew ? clock.setTimeout(onLate, connectTimeoutMs) : undefined;
	if (isNew) socket.once(connected, onUsable);
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

/** True until a new socket is connected, TLS included. */
export function isConnecting(socket: Socket): boolean {
	return socket.connecting || (socket as Socket & { readonly secureConnecting?: boolean }).secureConnecting === true;
}

/** Ends a socket without listeners, whose errors, now or later, would be uncaught exceptions. */
export function discard(socket: Socket): void {
	socket.on('error', () => undefined).destroy();
}

/** Lets Node assign an unused connected socket to the next request in its queue, or keep or end it, in the next tick. */
export function passOn(socket: Socket): void {
	const onError = (): void => undefined;
	// Nothing else listens until then; Node then sees that it is closed.
	socket.on('error', onError);
	process.nextTick(() => {
		socket.emit('free');
		socket.off('error', onError);
	});
}

function closedError(): Error {
	return Object.assign(new Error('it closed the connection before a request was sent'), { code: 'ECONNRESET' });
}

/**
 * Says of an error of a connection that is about bytes that are no TLS what that means; every other is left as it is. The
 * code is OpenSSL's: the first bytes of an answer in plain text are read as the version of a record.
 */
export function nameMissingTls(problem: unknown): unknown {
	if (!isError(problem)) return problem;
	const { code, message } = problem as NodeJS.ErrnoException;
	if (code !== 'ERR_SSL_WRONG_VERSION_NUMBER') return problem;
	const said = `it does not speak TLS on this port; use http, or its TLS port (${message.trim()})`;
	return Object.assign(new Error(said, { cause: problem.cause }), { code });
}
