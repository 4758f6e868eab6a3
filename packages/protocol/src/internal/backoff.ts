import type { Random } from './clock.ts';

/** Options of {@link Backoff}. */
export interface BackoffOptions {
	/** Ceiling of the first delay in milliseconds. */
	readonly delayMsMin: number;
	/** Ceiling that doubling stops at, in milliseconds. */
	readonly delayMsMax: number;
	/** Default `Math.random`. */
	readonly random?: Random;
}

/**
 * Exponential back-off with full jitter: each delay is uniform between 1 ms and a ceiling that doubles. Full jitter
 * spreads the clients of a restarted server best.
 * Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export class Backoff {
	readonly #delayMsMin: number;
	readonly #delayMsMax: number;
	readonly #random: Random;
	#attempts = 0;

	constructor(options: BackoffOptions) {
		this.#delayMsMin = options.delayMsMin;
		this.#delayMsMax = options.delayMsMax;
		this.#random = options.random ?? Math.random;
	}

	/** Delays given out since the last reset. */
	get attempts(): number {
		return this.#attempts;
	}

	/** The next delay in milliseconds, at least 1. */
	next(): number {
		// 2^30 times any delay is past every ceiling; the cap keeps the power exact.
		const ceilingMs = Math.min(this.#delayMsMax, this.#delayMsMin * 2 ** Math.min(this.#attempts, 30));
		this.#attempts++;
		return Math.max(1, Math.round(this.#random() * ceilingMs));
	}

	/** Starts again from the first ceiling. */
	reset(): void {
		this.#attempts = 0;
	}
}
