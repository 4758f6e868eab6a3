import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** After a sweep the next one comes no sooner than this: staggered deadlines cost one sweep for each step, not one each. */
export const DEADLINE_RESOLUTION_MS = 5;

/**
 * One timer for any number of deadlines: the earliest is armed, and when it fires the owner sweeps what is due. With a
 * timer for each call, timers cost more than the calls.
 *
 * The timer never keeps the process alive by itself: what its calls wait for (a socket, a retry) does.
 */
export class DeadlineTimer {
	readonly #clock: Clock;
	readonly #sweep: (nowMs: number) => number;
	#timer: TimerHandle | undefined;
	#dueMs: number = Number.POSITIVE_INFINITY;

	/** `sweep` ends what is due at `nowMs` and gives the earliest deadline left, Infinity for none. */
	constructor(clock: Clock, sweep: (nowMs: number) => number) {
		this.#clock = clock;
		this.#sweep = sweep;
	}

	/** Sees to it that a sweep comes at this deadline or earlier. */
	arm(deadlineMs: number): void {
		if (deadlineMs >= this.#dueMs) return;
		this.#clock.clearTimeout(this.#timer);
		this.#dueMs = deadlineMs;
		this.#timer = this.#clock.setTimeout(this.#fire, Math.max(0, Math.ceil(deadlineMs - this.#clock.now())));
		this.#timer.unref?.();
	}

	/** Forgets every deadline. */
	clear(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#dueMs = Number.POSITIVE_INFINITY;
	}

	readonly #fire = (): void => {
		this.clear();
		const nowMs = this.#clock.now();
		const nextMs = this.#sweep(nowMs);
		if (nextMs !== Number.POSITIVE_INFINITY) this.arm(Math.max(nextMs, nowMs + DEADLINE_RESOLUTION_MS));
	};
}
