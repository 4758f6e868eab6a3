import { Backoff, type Clock, type TimerHandle } from '@spock/protocol/internal';

import { errnoOf } from './address-report.ts';
import type { ResolvedOptions } from './options.ts';

/** Quick retries in a row, after which a full backlog counts as any other failure. */
const QUICK_RETRIES_MAX = 16;

/** When to dial again: back-off from the first failure on, started afresh only after a connection that held. */
export class RetrySchedule {
	readonly #clock: Clock;
	readonly #options: ResolvedOptions;
	readonly #backoff: Backoff;
	readonly #due: () => void;
	#quickRetries = 0;
	#timer: TimerHandle | undefined;

	constructor(options: ResolvedOptions, due: () => void) {
		this.#clock = options.clock;
		this.#options = options;
		this.#due = due;
		this.#backoff = new Backoff({
			delayMsMin: options.retryDelayMsMin,
			delayMsMax: options.retryDelayMsMax,
			random: options.random,
		});
	}

	/** True while a retry is due later. */
	get pending(): boolean {
		return this.#timer !== undefined;
	}

	/** Arms the timer of the next attempt, if it is not armed. `error` is why the last one failed. */
	schedule(error: unknown): void {
		if (this.#timer !== undefined) return;
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			this.#due();
		}, this.#delayMs(error));
		if (this.#options.unref) this.#timer.unref?.();
	}

	cancel(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}

	/** A connection held for `stableMs`: the next failure is a new story. */
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
