import type { Duplex } from 'node:stream';

import { type FramedSocket, type Packing, packings, unpackInput } from '@spock/protocol/node';

/** Connections whose input is packed, at a time: each takes 2 MiB to unpack it. Further ones are not packed. */
export const PACKED_INPUTS_MAX = 64;

/** Of all connections. */
export class PackedInputs {
	#count = 0;

	/** True if there is room for one more, which is counted then. */
	enter(): boolean {
		if (this.#count >= PACKED_INPUTS_MAX) return false;
		this.#count++;
		return true;
	}

	leave(): void {
		this.#count--;
	}
}

/** Whether what one client sends is packed. */
export class PackedInput {
	readonly #framed: FramedSocket;
	readonly #socket: Duplex;
	readonly #all: PackedInputs | undefined;
	readonly #fault: (message: string) => void;
	#packing: Packing | undefined;
	#stop: (() => void) | undefined;

	/** Without `all` it never is: at a unix domain socket it would only cost time. `fault` is told why it is dropped where it cannot be unpacked. */
	constructor(framed: FramedSocket, socket: Duplex, all: PackedInputs | undefined, fault: (message: string) => void) {
		this.#framed = framed;
		this.#socket = socket;
		this.#all = all;
		this.#fault = fault;
	}

	/** Chooses one of the features of a client: what comes behind its hello is packed by that. It stays the first one. */
	agree(features: readonly string[] = []): Packing | undefined {
		if (this.#packing !== undefined || this.#all === undefined) return this.#packing;
		const packing = packings().find((known) => features.includes(known));
		if (packing === undefined || !this.#all.enter()) return undefined;
		this.#packing = packing;
		this.#stop = unpackInput(this.#framed, this.#socket, packing, (error) => {
			this.#fault(`what came cannot be unpacked: ${error.message}`);
			this.#framed.destroy(error);
		});
		return packing;
	}

	closed(): void {
		if (this.#packing === undefined) return;
		this.#stop?.();
		this.#all?.leave();
	}
}
