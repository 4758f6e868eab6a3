import type { Socket } from 'node:net';

import type { Clock } from '@spock/protocol/internal';

/** Connections that wait for a worker at most: as many as the kernel holds before they are accepted. */
const WAITING_MAX = 4096;
/** At most one word in this time about those that are dropped. */
const TELL_EVERY_MS = 10_000;

/** A connection and the listener it came by. */
export interface Accepted {
	readonly socket: Socket;
	readonly listener: number;
}

/** Who takes connections. */
export interface SocketTaker {
	/** Passes a connection on, and keeps it open here. */
	sendSocket(accepted: Accepted): void;
}

/**
 * Connections on their way to the worker, one at a time. While there is no worker they wait, unread, so that the next one
 * gets every byte; what was sent to a worker that dies before it has taken it is sent to the next one.
 */
export class WaitingSockets {
	readonly #clock: Pick<Clock, 'now'>;
	readonly #dropped: (count: number) => void;
	readonly #waiting: Accepted[] = [];
	#droppedCount = 0;
	#toldAt = Number.NEGATIVE_INFINITY;
	#taker: SocketTaker | undefined;
	#sent: { readonly accepted: Accepted; readonly taker: SocketTaker } | undefined;

	/** `dropped` is told how many were dropped since the start because too many wait: at the first, and then now and then. */
	constructor(clock: Pick<Clock, 'now'>, dropped: (count: number) => void) {
		this.#clock = clock;
		this.#dropped = dropped;
	}

	add(accepted: Accepted): void {
		if (this.#waiting.length >= WAITING_MAX) {
			accepted.socket.destroy();
			this.#drop();
			return;
		}
		// Nobody reads it here: only an error could be told.
		accepted.socket.on('error', () => undefined);
		this.#waiting.push(accepted);
		this.#next();
	}

	/** There is a worker that takes them. */
	sendTo(taker: SocketTaker): void {
		this.#taker = taker;
		this.#next();
	}

	/** The worker has the last one. */
	taken(taker: SocketTaker): void {
		if (this.#sent?.taker !== taker) return;
		// Only this process's end of it is closed.
		this.#sent.accepted.socket.destroy();
		this.#sent = undefined;
		this.#next();
	}

	/** The worker has ended; what it has said before may still come. */
	hold(): void {
		this.#taker = undefined;
	}

	/** Everything that the worker has said has been told: what it has not taken is for the next. */
	gone(taker: SocketTaker): void {
		if (this.#taker === taker) this.hold();
		if (this.#sent?.taker !== taker) return;
		this.#waiting.unshift(this.#sent.accepted);
		this.#sent = undefined;
		this.#next();
	}

	/** Nobody will take them any more. */
	destroy(): void {
		this.hold();
		for (const { socket } of this.#waiting.splice(0)) socket.destroy();
		this.#sent?.accepted.socket.destroy();
	}

	#drop(): void {
		this.#droppedCount++;
		const now = this.#clock.now();
		if (now - this.#toldAt < TELL_EVERY_MS) return;
		this.#toldAt = now;
		this.#dropped(this.#droppedCount);
	}

	#next(): void {
		const taker = this.#taker;
		if (taker === undefined || this.#sent !== undefined) return;
		const accepted = this.#waiting.shift();
		if (accepted === undefined) return;
		this.#sent = { accepted, taker };
		taker.sendSocket(accepted);
	}
}
