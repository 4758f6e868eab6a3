import type { Duplex } from 'node:stream';

interface SocketUse {
	isIdle: boolean;
	/** The header Keep-Alive of its last response. */
	keepAlive: string | undefined;
	readonly onClose: () => void;
}

/** The kept connections to one instance. Drained, its idle ones are closed at once and the others after their response. */
export class InstanceSockets {
	readonly #sockets = new Map<Duplex, SocketUse>();
	readonly #onUnused: (self: InstanceSockets) => void;
	/** Requests that are to be given a connection. */
	#requests = 0;
	#isDrained = false;

	/** Calls `onUnused` when neither a connection nor a request is left. */
	constructor(onUnused: (self: InstanceSockets) => void) {
		this.#onUnused = onUnused;
	}

	/** True once the instance has left: no connection to it is to be kept. */
	get isDrained(): boolean {
		return this.#isDrained;
	}

	/** A request goes to this instance. */
	enter(): void {
		this.#requests++;
	}

	/** That request has ended, or goes elsewhere. */
	leave(): void {
		this.#requests--;
		this.#tellIfUnused();
	}

	use(socket: Duplex): void {
		const known = this.#sockets.get(socket);
		if (known !== undefined) {
			known.isIdle = false;
			return;
		}
		const onClose = (): void => this.forget(socket);
		this.#sockets.set(socket, { isIdle: false, keepAlive: undefined, onClose });
		socket.once('close', onClose);
	}

	/** What the server said of this connection. */
	answered(socket: Duplex, keepAlive: string | undefined): void {
		const known = this.#sockets.get(socket);
		if (known !== undefined) known.keepAlive = keepAlive;
	}

	keepAliveOf(socket: Duplex): string | undefined {
		return this.#sockets.get(socket)?.keepAlive;
	}

	idle(socket: Duplex): void {
		const known = this.#sockets.get(socket);
		if (known !== undefined) known.isIdle = true;
	}

	/** The connection has ended, or has another owner now. */
	forget(socket: Duplex): void {
		const known = this.#sockets.get(socket);
		if (known === undefined) return;
		socket.off('close', known.onClose);
		this.#sockets.delete(socket);
		this.#tellIfUnused();
	}

	drain(): void {
		this.#isDrained = true;
		this.closeIdle();
	}

	/** Node's agent passes over idle connections that are closed. */
	closeIdle(): void {
		for (const [socket, { isIdle }] of this.#sockets) if (isIdle) socket.destroy();
	}

	#tellIfUnused(): void {
		if (this.#requests === 0 && this.#sockets.size === 0 && !this.#isDrained) this.#onUnused(this);
	}
}

/**
 * How long a connection may be idle: as long as is allowed here, or until shortly before the server closes it, which it
 * tells in the header Keep-Alive (`timeout=5`, seconds). At most 0: it must not be used again.
 *
 * Node itself heeds the header only where the agent has a `timeout`.
 */
export function idleTimeMs(limitMs: number, keepAlive: string | undefined, bufferMs: number): number {
	const seconds = /(?:^|[\s,;])timeout=(\d+)/i.exec(keepAlive ?? '')?.[1];
	return seconds === undefined ? limitMs : Math.min(limitMs, Number(seconds) * 1000 - bufferMs);
}
