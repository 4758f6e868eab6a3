import { createConnection, type OnReadOpts, Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { SocketAddress } from '@spock/protocol/node';

/**
 * Opens a byte stream to a sidecar, at once and without waiting: what is written before it is connected must be kept, and
 * a failure to connect must come as `error` and `close`. Bytes that arrive are given to `receive`, or come as `data`
 * events; a chunk may be reused once `receive` has returned. The stream belongs to the client, which destroys it.
 */
export type Transport = (address: SocketAddress, receive: (chunk: Buffer) => void) => Duplex;

/** Bytes read from the kernel at once. */
const READ_BYTES = 65_536;
let readBuffer: Buffer | undefined;

/** A unix domain or a TCP socket of node:net. */
export const socketTransport: Transport = (address, receive) => {
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

/** A stream that is broken from the start: a transport that throws is one whose attempt failed. */
export function failedTransport(error: unknown): Duplex {
	return new Socket().destroy(error instanceof Error ? error : new Error(String(error)));
}
