import { type AgeClock, ageClockOf, type Clock } from '@spock/protocol/internal';

import { OneTimer } from '../foundation/timers.ts';

/** Checks in a row without a byte from the peer after which it counts as dead. */
export const MISSED_PINGS_MAX = 2;

/** Between checks while there is a reason to doubt, in milliseconds: long enough for a machine that is merely busy. */
const DOUBT_MS = 2000;

/** What a heartbeat looks at and does. */
export interface HeartbeatPort {
	/** Every byte is a sign of life, not only the answer to a ping. */
	bytesRead(): number;
	ping(): void;
	/** The peer has been silent since its last byte. The heartbeat has stopped. */
	dead(): void;
}

/**
 * Finds a half-open connection: a peer that is stopped, or whose machine is gone, looks to the kernel like an idle one. Its timer never keeps the process alive.
 */
export class Heartbeat {
	readonly #ages: AgeClock;
	readonly #intervalMs: number;
	readonly #port: HeartbeatPort;
	readonly #timer: OneTimer;
	#bytesRead = 0;
	#heardAtMs: number;
	#pinged = false;
	#missed = 0;
	/** True from a doubt to the next byte. */
	#doubts = false;

	constructor(clock: Clock, intervalMs: number, port: HeartbeatPort) {
		this.#ages = ageClockOf(clock);
		this.#heardAtMs = this.#ages.now();
		this.#intervalMs = intervalMs;
		this.#port = port;
		this.#timer = new OneTimer(clock, () => this.#tick());
	}

	/** Bytes of the peer are being read. */
	heard(): void {
		this.#heardAtMs = this.#ages.sentAtMs();
	}

	/** When the peer sent the last of its bytes, by the age clock: at this time or later. */
	get heardAtMs(): number {
		return this.#heardAtMs;
	}

	start(): void {
		this.#bytesRead = this.#port.bytesRead();
		this.#timer.arm(this.#intervalMs);
	}

	/** A call got no answer in time: the peer is pinged now, and checked soon, until it sends a byte. */
	doubt(): void {
		// Not before it has started: until then the deadline of hello bounds the silence.
		if (this.#doubts || this.#intervalMs <= DOUBT_MS || !this.#timer.pending) return;
		this.#doubts = true;
		this.#timer.cancel();
		this.#ask();
	}

	stop(): void {
		this.#timer.cancel();
	}

	#tick(): void {
		const bytesRead = this.#port.bytesRead();
		if (bytesRead === this.#bytesRead) {
			// Silence counts only after a question.
			if (this.#pinged) this.#missed++;
		} else {
			this.#missed = 0;
			this.#doubts = false;
			this.#bytesRead = bytesRead;
		}
		if (this.#missed >= MISSED_PINGS_MAX) {
			this.#port.dead();
			return;
		}
		this.#ask();
	}

	#ask(): void {
		this.#port.ping();
		this.#pinged = true;
		this.#timer.arm(this.#doubts ? DOUBT_MS : this.#intervalMs);
	}
}
