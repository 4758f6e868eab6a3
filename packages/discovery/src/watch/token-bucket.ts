/** Queries that a watch may send at once: the first change after a quiet period is seen without delay. */
const BURST = 2;
const INTERVAL_MS_MIN = 1000;
const INTERVAL_MS_MAX = 15_000;
/** Answers in a row without a change before the pace slows down: as many as fit into the default hold of an empty answer. */
export const SPINS_MIN = 10;

/**
 * The pace of one watch: two queries at once, then at most one a second. While answers arrive without a change (other data move the
 * registry's index) the interval doubles, up to 15 s; a change or a quiet period resets it. It doubles only after {@link SPINS_MIN}
 * of them, because a service that comes and goes quickly may be gone at each query.
 * Source: https://developer.hashicorp.com/consul/api-docs/features/blocking ("rate limit").
 */
export class TokenBucket {
	#tokens = BURST;
	#intervalMs = INTERVAL_MS_MIN;
	#refilledAtMs: number;
	#spins = 0;

	constructor(nowMs: number) {
		this.#refilledAtMs = nowMs;
	}

	/** Takes a token for the next query. Returns how long to wait before sending it, in milliseconds. */
	take(nowMs: number, wasChange: boolean): number {
		if (wasChange) this.#steady();
		const refill = Math.floor((nowMs - this.#refilledAtMs) / this.#intervalMs);
		if (refill > 0) {
			this.#tokens = Math.min(BURST, this.#tokens + refill);
			this.#refilledAtMs = this.#tokens === BURST ? nowMs : this.#refilledAtMs + refill * this.#intervalMs;
		}
		if (this.#tokens > 0) {
			if (this.#tokens === BURST) {
				this.#refilledAtMs = nowMs;
				this.#steady();
			}
			this.#tokens--;
			return 0;
		}
		if (!wasChange && ++this.#spins > SPINS_MIN) this.#intervalMs = Math.min(INTERVAL_MS_MAX, this.#intervalMs * 2);
		// Spend the token of the next interval in advance.
		const waitMs = Math.max(0, this.#refilledAtMs + this.#intervalMs - nowMs);
		this.#refilledAtMs = nowMs + waitMs;
		return waitMs;
	}

	#steady(): void {
		this.#spins = 0;
		this.#intervalMs = INTERVAL_MS_MIN;
	}
}
