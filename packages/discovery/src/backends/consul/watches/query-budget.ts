import type { Clock } from '@spock/protocol/internal';

/** A tenth of what a minute allows may be sent at once, and the rest is spread over the minute: no minute has more than all. */
const AT_ONCE = 0.1;
const MINUTE_MS = 60_000;
/** A smaller budget is a promise to Consul, and is kept to the letter: nothing is saved and nothing is lent. */
const SAVING_PER_MINUTE_MIN = 600;

/**
 * So many queries a minute and no more, however they come. What a quiet time leaves unused is saved for one look at every service after
 * it, and once a minute every service may be read at once after a failure: without these two, 850 services are all seen 17 s later.
 */
export class QueryBudget {
	readonly #clock: Clock;
	readonly #perMinuteMax: number;
	readonly #atOnceMax: number;
	readonly #intervalMs: number;
	#left: number;
	#countedAtMs: number;
	#saved = 0;
	#lent = 0;
	#lentAtMs = Number.NEGATIVE_INFINITY;

	constructor(clock: Clock, perMinuteMax: number) {
		this.#clock = clock;
		this.#perMinuteMax = perMinuteMax;
		this.#atOnceMax = Math.max(1, Math.floor(perMinuteMax * AT_ONCE));
		this.#intervalMs = MINUTE_MS / Math.max(1, perMinuteMax - this.#atOnceMax);
		this.#left = this.#atOnceMax;
		this.#countedAtMs = clock.now();
	}

	/** Takes one query: 0 if it may be sent now, else the time after which to ask again, in milliseconds. */
	take(): number {
		const nowMs = this.#earn();
		if (this.#left > 0) {
			this.#left--;
			return 0;
		}
		return Math.max(1, this.#countedAtMs + this.#intervalMs - nowMs);
	}

	/** Takes one of those that a quiet time has saved, where at most so many are; false if none is left. */
	takeSaved(savedMax: number): boolean {
		this.#earn();
		this.#saved = Math.min(this.#saved, savedMax);
		if (this.#saved === 0) return false;
		this.#saved--;
		return true;
	}

	/** Takes one of as many as there are services, after a failure; false if all of this minute are used. */
	takeLent(countMax: number): boolean {
		if (this.#perMinuteMax < SAVING_PER_MINUTE_MIN) return false;
		const nowMs = this.#clock.now();
		if (nowMs - this.#lentAtMs >= MINUTE_MS) {
			this.#lent = 0;
			this.#lentAtMs = nowMs;
		}
		if (this.#lent >= Math.min(countMax, this.#perMinuteMax)) return false;
		this.#lent++;
		return true;
	}

	#earn(): number {
		const nowMs = this.#clock.now();
		const earned = Math.floor((nowMs - this.#countedAtMs) / this.#intervalMs);
		const over = Math.max(0, this.#left + earned - this.#atOnceMax);
		this.#left += earned - over;
		if (this.#perMinuteMax >= SAVING_PER_MINUTE_MIN) this.#saved = Math.min(this.#perMinuteMax, this.#saved + over);
		this.#countedAtMs = this.#left === this.#atOnceMax ? nowMs : this.#countedAtMs + earned * this.#intervalMs;
		return nowMs;
	}
}
