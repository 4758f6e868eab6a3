import type { Clock } from '@spock/protocol/internal';

/** A tenth of what a minute allows may be sent at once, and the rest is spread over the minute: no minute has more than all. */
const AT_ONCE = 0.1;
const MINUTE_MS = 60_000;

/** So many queries a minute and no more, however they come. */
export class QueryBudget {
	readonly #clock: Clock;
	readonly #atOnceMax: number;
	readonly #intervalMs: number;
	#left: number;
	#countedAtMs: number;

	constructor(clock: Clock, perMinuteMax: number) {
		this.#clock = clock;
		this.#atOnceMax = Math.max(1, Math.floor(perMinuteMax * AT_ONCE));
		this.#intervalMs = MINUTE_MS / Math.max(1, perMinuteMax - this.#atOnceMax);
		this.#left = this.#atOnceMax;
		this.#countedAtMs = clock.now();
	}

	/** Takes one query: 0 if it may be sent now, else the time after which to ask again, in milliseconds. */
	take(): number {
		const nowMs = this.#clock.now();
		const earned = Math.floor((nowMs - this.#countedAtMs) / this.#intervalMs);
		this.#left = Math.min(this.#atOnceMax, this.#left + earned);
		this.#countedAtMs = this.#left === this.#atOnceMax ? nowMs : this.#countedAtMs + earned * this.#intervalMs;
		if (this.#left > 0) {
			this.#left--;
			return 0;
		}
		return Math.max(1, this.#countedAtMs + this.#intervalMs - nowMs);
	}
}
