import { Buffer } from 'node:buffer';
import type { Socket } from 'node:net';
import type { Transform } from 'node:stream';

import { createPacker, type Packing } from '@spock/protocol/node';

/**
 * Packs what is written to a socket. While a batch is packed, which happens in another thread, the next one gathers: so under load batches grow, and
 * there is one job at a time. Not bounded by itself: whoever writes has a window.
 */
export class PackedWriter {
	readonly #packer: Transform;
	#pending = '';
	#isBusy = false;

	/** It ends with the socket. */
	constructor(packing: Packing, socket: Socket) {
		this.#packer = createPacker(packing);
		this.#packer.pipe(socket);
		this.#packer.on('error', (error) => socket.destroy(error));
		socket.once('close', () => this.#packer.destroy());
	}

	write(text: string): void {
		this.#pending += text;
		if (!this.#isBusy) this.#next();
	}

	#next(): void {
		const text = this.#pending;
		this.#pending = '';
		this.#isBusy = text !== '';
		if (this.#isBusy && !this.#packer.destroyed) this.#packer.write(Buffer.from(text), () => this.#next());
	}
}
