import { Backoff } from '@spock/protocol/internal';
import { OneTimer } from '../foundation/one-timer.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { errnoOf } from './address-report.ts';

/** Quick retries in a row, after which a full backlog counts as any other failure. */
const QUICK_RETRIES_MAX = 16;

/** Between two looks at whether somebody new is there, in milliseconds: a client is back within about this of a sidecar. */
const LOOK_MS = 25;

/** What a schedule needs of the options. */
export type RetryOptions = Pick<ResolvedOptions, 'retryDelayMsMin' | 'retryDelayMsMax' | 'clock' | 'random' | 'unref'>;

/**
 * When to try again: back-off from the first failure on, started afresh only by a success that lasts. Back-off spares whoever
 * fails; somebody new has not failed yet. So with a `mark` of who is there, a new one is tried at once, and once.
 */
export class RetrySchedule {
	readonly #options: RetryOptions;
	readonly #backoff: Backoff;
	readonly #timer: OneTimer;
	readonly #due: () => void;
	readonly #mark: (() => string | undefined) | undefined;
	#marked: string | undefined;
	#attemptedAtMs: number | undefined;
	#waitMs = 0;
	#quickRetries = 0;

	constructor(options: RetryOptions, due: () => void, mark?: () => string | undefined) {
		this.#options = options;
		this.#due = due;
		this.#mark = mark;
		this.#timer = new OneTimer(options.clock, () => this.#look(), options.unref);
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
		if (this.#timer.pending) return;
		const { clock } = this.#options;
		// A delay is between the beginnings of two attempts: one that has hung for longer need not be waited for again.
		const passedMs = this.#attemptedAtMs === undefined ? 0 : clock.now() - this.#attemptedAtMs;
		this.#waitMs = Math.max(1, this.#delayMs(error) - passedMs);
		this.#wait();
	}

	/** An attempt begins: delays count from here, and who is there now is no news any more. */
	attempt(): void {
		this.#attemptedAtMs = this.#options.clock.now();
		this.#marked = this.#mark?.();
	}

	cancel(): void {
		this.#timer.cancel();
	}

	/** What was tried has succeeded, and lasts: the next failure is a new story. */
	reset(): void {
		this.#backoff.reset();
		this.#quickRetries = 0;
		this.#attemptedAtMs = undefined;
	}

	#wait(): void {
		const partMs = this.#mark === undefined ? this.#waitMs : Math.min(this.#waitMs, LOOK_MS);
		this.#waitMs -= partMs;
		this.#timer.arm(partMs);
	}

	#look(): void {
		const mark = this.#mark?.();
		if (this.#waitMs > 0 && (mark === undefined || mark === this.#marked)) this.#wait();
		else this.#due();
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
