import { once } from 'node:events';
import { createConnection } from 'node:net';

import type { LoadTarget } from '../load/load.ts';

const MESSAGE_BYTES = 64;
/** Most messages in flight: a power of two. */
const WAITING_MAX = 131_072;

/** The limit in Node: 64 bytes there and back, `onread`, no parsing, no timers, each message written by itself. */
export async function connectEcho(path: string): Promise<LoadTarget> {
	const message = Buffer.alloc(MESSAGE_BYTES, 0x2e);
	const waiting = new Array<(() => void) | undefined>(WAITING_MAX).fill(undefined);
	let head = 0;
	let tail = 0;
	let partialBytes = 0;
	const socket = createConnection({
		path,
		onread: {
			buffer: Buffer.allocUnsafeSlow(65_536),
			callback: (byteCount) => {
				partialBytes += byteCount;
				while (partialBytes >= MESSAGE_BYTES) {
					partialBytes -= MESSAGE_BYTES;
					waiting[head++ & (WAITING_MAX - 1)]?.();
				}
				return true;
			},
		},
	});
	await once(socket, 'connect');
	return {
		send: (done) => {
			waiting[tail++ & (WAITING_MAX - 1)] = done;
			socket.write(message);
		},
		close: () => {
			socket.destroy();
		},
	};
}

/** A connection for each echo. The address is a path, or HOST:PORT. */
export function connectEchoPerCall(address: string): LoadTarget {
	const message = Buffer.alloc(MESSAGE_BYTES, 0x2e);
	const [host = '', port] = address.split(':');
	const where = port === undefined ? { path: address } : { host, port: Number(port) };
	return {
		send: (done) => {
			const socket = createConnection(where, () => socket.write(message));
			socket.once('data', () => socket.destroy());
			socket.once('close', () => done());
		},
		close: () => undefined,
	};
}
