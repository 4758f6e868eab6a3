import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** One action that is due later: at most one timer of the clock runs for it. */
export class OneTimer {
	readonly #clock: Clock;
	readonly #due: () => void;
	readonly #unref: boolean;
	#timer: TimerHandle | undefined;

	/** With `unref`, which is the default, the timer never keeps the process alive. */
	constructor(clock: Clock, due: () => void, unref = true) {
		this.#clock = clock;
		this.#due = due;
		this.#unref = unref;
	}

	/** True while it is due later. */
	get pending(): boolean {
		return this.#timer !== undefined;
	}

	/** Calls `due` after this delay, unless a call is pending. */
	arm(delayMs: number): void {
		this.#timer ??= this.#clock.setTimeout(() => {
			this.#timer = undefined;
			this.#due();
		}, delayMs);
		if (this.#unref) this.#timer.unref?.();
	}

	cancel(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}

/** After a sweep the next one comes no sooner than this: staggered deadlines cost one sweep for each step, not one each. */
const DEADLINE_RESOLUTION_MS = 5;

/** True for a deadline that has passed. A sweep asks it of every deadline. */
export type IsDue = (deadlineMs: number) => boolean;

/**
 * One timer for any number of deadlines: the earliest is armed, and when it fires the owner sweeps what is due. With a
 * timer for each call, timers cost more than the calls.
 *
 * The timer never keeps the process alive by itself: what its calls wait for (a socket, a retry) does.
 */
export class DeadlineTimer {
	readonly #clock: Clock;
	readonly #sweep: (isDue: IsDue) => void;
	readonly #timer: OneTimer;
	#dueMs: number = Number.POSITIVE_INFINITY;

	/** `sweep` ends what is due. Of the deadlines that it asked about, the earliest that is not due is armed next. */
	constructor(clock: Clock, sweep: (isDue: IsDue) => void) {
		this.#clock = clock;
		this.#sweep = sweep;
		this.#timer = new OneTimer(clock, () => this.#fire());
	}

	/** Sweeps at this deadline or earlier. */
	arm(deadlineMs: number): void {
		if (deadlineMs >= this.#dueMs) return;
		this.clear();
		this.#dueMs = deadlineMs;
		this.#timer.arm(Math.max(0, Math.ceil(deadlineMs - this.#clock.now())));
	}

	/** Forgets every deadline. */
	clear(): void {
		this.#timer.cancel();
		this.#dueMs = Number.POSITIVE_INFINITY;
	}

	#fire(): void {
		this.clear();
		const nowMs = this.#clock.now();
		let nextMs: number = Number.POSITIVE_INFINITY;
		this.#sweep((deadlineMs) => {
			if (deadlineMs <= nowMs) return true;
			if (deadlineMs < nextMs) nextMs = deadlineMs;
			return false;
		});
		this.arm(Math.max(nextMs, nowMs + DEADLINE_RESOLUTION_MS));
	}
}
