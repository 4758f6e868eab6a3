import type { Socket } from 'node:net';

/** Connections that wait for a worker at most: as many as the kernel holds before they are accepted. */
const WAITING_MAX = 4096;

/** A connection and the listener it came by. */
export interface Accepted {
	readonly socket: Socket;
	readonly listener: number;
}

/**
 * Connections on their way to the worker, one at a time: what was sent to a worker that dies before it has taken it is lost,
 * and then at most one is. While there is no worker they wait, unread, so that the next one gets every byte.
 */
export class WaitingSockets {
	readonly #waiting: Accepted[] = [];
	#send: ((accepted: Accepted) => void) | undefined;
	#isTaking = false;

	add(accepted: Accepted): void {
		if (this.#waiting.length >= WAITING_MAX) {
			accepted.socket.destroy();
			return;
		}
		// Nobody reads it here: only an error could be told.
		accepted.socket.on('error', () => undefined);
		this.#waiting.push(accepted);
		this.#next();
	}

	/** There is a worker that takes them. */
	sendTo(send: (accepted: Accepted) => void): void {
		this.#send = send;
		this.#isTaking = false;
		this.#next();
	}

	/** The worker has the last one. */
	taken(): void {
		this.#isTaking = false;
		this.#next();
	}

	/** There is no worker. */
	hold(): void {
		this.#send = undefined;
	}

	/** Nobody will take them any more. */
	destroy(): void {
		this.hold();
		for (const { socket } of this.#waiting.splice(0)) socket.destroy();
	}

	#next(): void {
		if (this.#send === undefined || this.#isTaking) return;
		const next = this.#waiting.shift();
		if (next === undefined) return;
		this.#isTaking = true;
		this.#send(next);
	}
}
