import { Duplex } from 'node:stream';

/** Two ends of one byte stream in memory: what is written to one is read from the other, in order. */
export interface MemoryPair {
	readonly near: Duplex;
	readonly far: Duplex;
}

/**
 * A pair of streams that behaves as a connected socket does: bytes go across asynchronously, an end ends the other side,
 * and destroying one closes the other. Nothing in it needs time or the network.
 */
export function memoryPair(): MemoryPair {
	const near = new MemoryEnd();
	const far = new MemoryEnd();
	near.peer = far;
	far.peer = near;
	return { near, far };
}

class MemoryEnd extends Duplex {
	peer: MemoryEnd | undefined = undefined;
	#taken: (() => void) | undefined;

	constructor() {
		super({ allowHalfOpen: false });
	}

	override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
		const { peer } = this;
		if (peer === undefined || peer.destroyed) {
			done();
			return;
		}
		// The writer is held back until its peer reads, as a full socket buffer does.
		if (peer.push(chunk)) queueMicrotask(done);
		else peer.#taken = done;
	}

	override _read(): void {
		const taken = this.#taken;
		this.#taken = undefined;
		if (taken !== undefined) queueMicrotask(taken);
	}

	override _final(done: () => void): void {
		const { peer } = this;
		if (peer !== undefined && !peer.destroyed) peer.push(null);
		done();
	}

	override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
		const { peer } = this;
		this.#taken = undefined;
		if (peer !== undefined && !peer.destroyed) {
			setImmediate(() => {
				peer.#taken?.();
				if (!peer.destroyed) peer.destroy();
			});
		}
		done(error);
	}
}
