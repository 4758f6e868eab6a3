import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Transform } from 'node:stream';

import { createPacker, type Packing } from '@spock/protocol/node';

/**
 * Packs what is written to a socket. While a batch is packed, which happens in another thread, the next one gathers: so under load batches grow, and
 * there is one job at a time. Not bounded by itself: callers check backlogBytes.
 */
export class PackedWriter {
	readonly #packer: Transform;
	readonly #drained: () => void;
	#pending = '';
	/** Of what is packed now, and is done when the socket has taken it. */
	#packingBytes = 0;

	/** It ends with the socket. `drained`: there is less to do. */
	constructor(packing: Packing, socket: Socket, drained: () => void) {
		this.#packer = createPacker(packing);
		this.#drained = drained;
		this.#packer.pipe(socket);
		this.#packer.on('error', (error) => socket.destroy(error));
		socket.once('close', () => this.#packer.destroy());
	}

	/** Not packed yet, or not taken by the socket; about, where a character is more than a byte. */
	get backlogBytes(): number {
		return this.#pending.length + this.#packingBytes;
	}

	write(text: string): void {
		this.#pending += text;
		if (this.#packingBytes === 0) this.#next();
	}

	#next(): void {
		const bytes = Buffer.from(this.#pending);
		this.#pending = '';
		this.#packingBytes = bytes.length;
		if (bytes.length === 0 || this.#packer.destroyed) return;
		this.#packer.write(bytes, () => {
			this.#next();
			this.#drained();
		});
	}
}
