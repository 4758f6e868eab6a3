import type { SpockError } from '@spock/protocol';
import { Backoff } from '@spock/protocol/internal';
import type { ResolvedOptions } from '../foundation/options.ts';
import { OneTimer } from '../foundation/timers.ts';
import { errnoOf } from './address-report.ts';

/** Quick retries in a row, after which a full backlog counts like any other failure. */
const QUICK_RETRIES_MAX = 16;

/** Between two looks for a new listener, in milliseconds: a client is back within about this time of a sidecar. */
export const LOOK_MS = 25;

/** A sidecar takes 0.5 ms of a processor for each client that comes back with ten subscriptions, and over TLS 1.3 ms. */
const SPREAD_MS_PER_CLIENT = 1;
/** However many they are, each is tried within this time. */
const SPREAD_MS_MAX = 1000;

/** Within which time so many clients of one sidecar come back to it, each at a point of its own; 0: at once. */
export function spreadMsOf(clients: number | undefined = 0): number {
	return Math.min(SPREAD_MS_MAX, clients * SPREAD_MS_PER_CLIENT);
}

/** What a schedule needs of the options. */
export type RetryOptions = Pick<ResolvedOptions, 'retryDelayMsMin' | 'retryDelayMsMax' | 'clock' | 'random' | 'unref'>;

/**
 * When to try again: back-off from the first failure on, started afresh only by a success that lasts. Back-off spares a listener
 * that fails; a new one has not failed yet. So with a `mark` of the listener, a new one is tried at once, and once; by one of many
 * clients within `spreadMs`.
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
	/** A new listener was seen, and the attempt is at a point of its own behind that. */
	#isSpread = false;
	/** Attempts of many clients are spread over so long; 0: none is delayed. */
	spreadMs = 0;

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

	/** True where another process listens than at the last attempt. */
	get seesAnother(): boolean {
		const mark = this.#mark?.();
		return mark !== undefined && mark !== this.#marked;
	}

	/** Arms the timer of the next attempt, if it is not armed. `error` is why the last one failed. */
	schedule(error: unknown): void {
		if (this.#timer.pending) return;
		const { clock } = this.#options;
		// A delay is between the starts of two attempts: after one that hung for longer there is no wait.
		const passedMs = this.#attemptedAtMs === undefined ? 0 : clock.now() - this.#attemptedAtMs;
		this.#waitMs = Math.max(1, this.#delayMs(error) - passedMs);
		this.#wait();
	}

	/** An attempt begins: delays count from here, and the present listener is not new any more. */
	attempt(): void {
		this.#isSpread = false;
		this.#attemptedAtMs = this.#options.clock.now();
		this.#marked = this.#mark?.();
	}

	cancel(): void {
		this.#timer.cancel();
	}

	/** The connection was made, and lasts: the next failure starts from the first delay. */
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
		if (!this.#isSpread && this.spreadMs > 0 && this.seesAnother) {
			this.#isSpread = true;
			this.#waitMs = Math.min(this.#waitMs, this.#spread());
		}
		if (this.#waitMs > 0 && (this.#isSpread || !this.seesAnother)) this.#wait();
		else this.#due();
	}

	#spread(): number {
		return Math.round(this.#options.random() * this.spreadMs);
	}

	#delayMs(error: unknown): number {
		// EAGAIN: the sidecar is there and its backlog is full for a moment. Waiting longer each time would punish its load.
		if (errnoOf(error) === 'EAGAIN' && this.#quickRetries < QUICK_RETRIES_MAX) {
			this.#quickRetries++;
			return Math.max(1, Math.round(this.#options.random() * this.#options.retryDelayMsMin));
		}
		const delayMs = this.#backoff.next();
		return this.spreadMs > 0 ? Math.max(delayMs, this.#spread()) : delayMs;
	}
}

/** For what a connected sidecar refuses: its backend needs time, and the timer does not keep the process alive. */
export function whileRefused(options: RetryOptions): RetryOptions {
	const { clock, random } = options;
	return { clock, random, retryDelayMsMin: 100, retryDelayMsMax: 10_000, unref: true };
}

/** Longest delay before a subscription that callers wait for is asked for again. */
const AWAITED_DELAY_MS_MAX = 1000;

/**
 * Subscriptions that the sidecar has refused, and when they are asked for again: all at once, and those that callers wait for sooner.
 */
export class RefusedSubscriptions<S> {
	readonly #refused = new Set<S>();
	readonly #retry: RetrySchedule;
	readonly #awaited: RetrySchedule;
	readonly #isAwaited: (subscription: S) => boolean;

	constructor(
		options: ResolvedOptions,
		subscribe: (subscription: S) => void,
		isAwaited: (subscription: S) => boolean = () => false,
	) {
		const again = (isDue: (subscription: S) => boolean): void => {
			const due = [...this.#refused].filter(isDue);
			for (const subscription of due) this.#refused.delete(subscription);
			for (const subscription of due) subscribe(subscription);
		};
		const refused = whileRefused(options);
		this.#isAwaited = isAwaited;
		this.#retry = new RetrySchedule(refused, () => again(() => true));
		this.#awaited = new RetrySchedule({ ...refused, retryDelayMsMax: AWAITED_DELAY_MS_MAX }, () => again(isAwaited));
	}

	add(subscription: S, error: SpockError): void {
		this.#refused.add(subscription);
		this.#retry.schedule(error);
		if (this.#isAwaited(subscription)) this.#awaited.schedule(error);
	}

	/** True if it was one of them: the caller then asks for it. */
	delete(subscription: S): boolean {
		return this.#refused.delete(subscription);
	}

	/** A subscription was made: once none is refused, delays start afresh. */
	accepted(): void {
		if (this.#refused.size > 0) return;
		this.#retry.reset();
		this.#awaited.reset();
	}

	/** Forgets all of them. */
	clear(): void {
		this.#retry.cancel();
		this.#awaited.cancel();
		this.#refused.clear();
	}
}
