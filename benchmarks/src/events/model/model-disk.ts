import type { Clock } from '@spock/protocol/internal';

/** A disk that takes a fixed time for each sync, one after the other. */
export class ModelDisk {
	readonly #syncMs: number;
	readonly #clock: Clock;
	/** When the last sync that was asked for is over. */
	#freeAtMs = 0;

	/** `syncMs` is the time of one sync, in milliseconds. */
	constructor(syncMs: number, clock: Clock) {
		this.#syncMs = syncMs;
		this.#clock = clock;
	}

	/** Resolves when it is on the disk. Those that wait are not slowed by timers that are late: the disk goes on by its own time. */
	sync(): Promise<void> {
		const nowMs = this.#clock.now();
		this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + this.#syncMs;
		const waitMs = this.#freeAtMs - nowMs;
		return new Promise((resolve) => this.#clock.setTimeout(resolve, waitMs));
	}
}
