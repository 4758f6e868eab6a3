import { Backoff } from '@spock/protocol/internal';

import { errnoOf } from './address-report.ts';
import { OneTimer } from './one-timer.ts';
import type { ResolvedOptions } from './options.ts';

/** Quick retries in a row, after which a full backlog counts as any other failure. */
const QUICK_RETRIES_MAX = 16;

/** What a schedule needs of the options. */
export type RetryOptions = Pick<ResolvedOptions, 'retryDelayMsMin' | 'retryDelayMsMax' | 'clock' | 'random' | 'unref'>;

/** When to try again: back-off from the first failure on, started afresh only by a success that lasts. */
export class RetrySchedule {
	readonly #options: RetryOptions;
	readonly #backoff: Backoff;
	readonly #timer: OneTimer;
	#quickRetries = 0;

	constructor(options: RetryOptions, due: () => void) {
		this.#options = options;
		this.#timer = new OneTimer(options.clock, due, options.unref);
		this.#backoff = new Backoff({
			delayMsMin: options.retryDelayMsMin,
			delayMsMax: options.retryDelayMsMax,
			random: options.random,
		});
	}

	/** True while a retry is due later. */
	get pending(): boolean {
		return this.#timer.pending;
	}

	/** Arms the timer of the next attempt, if it is not armed. `error` is why the last one failed. */
	schedule(error: unknown): void {
		if (!this.#timer.pending) this.#timer.arm(this.#delayMs(error));
	}

	cancel(): void {
		this.#timer.cancel();
	}

	/** What was tried has succeeded, and lasts: the next failure is a new story. */
	reset(): void {
		this.#backoff.reset();
		this.#quickRetries = 0;
	}

	#delayMs(error: unknown): number {
		// EAGAIN: the sidecar is there and its backlog is full for a moment. Waiting longer each time would punish its load.
		if (errnoOf(error) === 'EAGAIN' && this.#quickRetries < QUICK_RETRIES_MAX) {
			this.#quickRetries++;
			return Math.max(1, Math.round(this.#options.random() * this.#options.retryDelayMsMin));
		}
		return this.#backoff.next();
	}
}

/** For what a sidecar that is there refuses: its backend needs time, not haste, and no process is held for it. */
export function whileRefused(options: RetryOptions): RetryOptions {
	const { clock, random } = options;
	return { clock, random, retryDelayMsMin: 100, retryDelayMsMax: 10_000, unref: true };
}
