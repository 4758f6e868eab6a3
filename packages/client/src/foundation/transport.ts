import { createConnection, type OnReadOpts, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isError } from '@spock/protocol/internal';
import { assertTrustedAddress, defaultSocketAddress, type SocketAddress, statOf } from '@spock/protocol/node';

/**
 * Opens a byte stream to a sidecar, at once and without waiting: what is written before it is connected must be kept, and
 * a failure to connect must come as `error` and `close`. Bytes that arrive are given to `receive`, or come as `data`
 * events; a chunk may be reused once `receive` has returned. The stream belongs to the client, which destroys it.
 */
export interface Transport {
	(address: SocketAddress, receive: (chunk: Buffer) => void): Duplex;
	/**
	 * A mark that differs for each listener at an address; undefined when no process listens, or it is unknown.
	 * Called every 25 ms while the client waits to try again, so it must be cheap; it must not throw. When it has changed
	 * since the last attempt, the client tries at once. Left out: it waits its delay.
	 */
	readonly mark?: (address: SocketAddress) => string | undefined;
}

/** Bytes read from the kernel at once. */
const READ_BYTES = 65_536;
let readBuffer: Buffer | undefined;

/**
 * Every sidecar makes a socket of its own, which a `stat` of the path shows in 2 µs: a fortieth of a failing attempt. (A watch of
 * the directory would cost an inotify instance, of which a user has 128 for all processes.)
 */
function markOf(address: SocketAddress): string | undefined {
	if (!('path' in address)) return undefined;
	try {
		const found = statOf(address.path);
		// The inode numbers of deleted files are used again; the time of the last change is not.
		return found && `${found.ino} ${found.ctimeNs}`;
	} catch {
		// A directory that this process may not enter. The next attempt reports it.
		return undefined;
	}
}

const openSocket = (address: SocketAddress, receive: (chunk: Buffer) => void): Duplex => {
	assertTrusted(address);
	// One buffer for all sockets of the thread: a read and its callback are one step of the event loop, and the decoder
	// copies what it keeps. Measured in design: 1.17x the calls of `data` events with 1024 in flight.
	readBuffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
	const onread: OnReadOpts = {
		buffer: readBuffer,
		callback: (byteCount, buffer) => {
			receive((buffer as Buffer).subarray(0, byteCount));
			return true;
		},
	};
	// A unix domain socket has no delay to switch off: Node looks at `noDelay` for TCP alone.
	return createConnection({ ...address, noDelay: true, onread });
};

/** A unix domain or a TCP socket of node:net. */
export const socketTransport: Transport = Object.assign(openSocket, { mark: markOf });

/** A stream that is broken from the start, for a transport that throws. */
export function failedTransport(error: unknown): Duplex {
	return new Socket().destroy(isError(error) ? error : new Error(String(error)));
}

/**
 * Where the sidecar is by default. The one place of this package that looks at the process: the app and
 * its sidecar must find each other by SPOCK_SOCKET, or by the same rule without it (see `defaultSocketAddress`).
 */
export function defaultAddress(): SocketAddress {
	return defaultSocketAddress({ env: process.env, uid: process.getuid?.() });
}

/** Throws if what is at the default address may be another user's. */
export function assertTrusted(address: SocketAddress): void {
	assertTrustedAddress(address, process.getuid?.());
}
