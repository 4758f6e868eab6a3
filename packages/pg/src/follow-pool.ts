import type { EventEmitter } from 'node:events';

import { socketOf } from './instance-socket.ts';

/** What is used of pg's Client. */
interface ClientLike {
	release(): void;
	end(): Promise<void>;
}

/** What is used of pg's Pool. */
export interface PoolLike extends EventEmitter {
	readonly idleCount: number;
	connect(): Promise<ClientLike>;
}

/**
 * Lets a pool retire its connections to an instance that has left by itself: idle ones at once, those in use when they are
 * released. Without it such an idle connection ends as when its server closes it, with an `error` event of the pool. Call it
 * right after the pool was made; it gives the pool back.
 */
export function followPool<P extends PoolLike>(pool: P): P {
	let isSweeping = false;
	const sweep = (): void => {
		if (isSweeping) return;
		isSweeping = true;
		void Promise.resolve().then(() => {
			isSweeping = false;
			// To take the idle ones out and give them back is the only way to each that a pool offers.
			for (let left = pool.idleCount; left > 0; left--) {
				pool.connect().then(
					(client) => client.release(),
					// The pool was ended, or another caller was faster: what is in use is retired when it is released.
					() => undefined,
				);
			}
		});
	};
	pool.on('connect', (client: ClientLike) => {
		const socket = socketOf(client);
		if (socket === undefined) return;
		socket.retire = sweep;
		if (socket.isLeaving) socket.leave();
	});
	// It comes before the pool looks whether the client can be used again.
	pool.on('release', (_error: unknown, client: ClientLike) => {
		const socket = socketOf(client);
		if (socket?.isLeaving === true && socket.isIdle) void client.end();
	});
	return pool;
}
