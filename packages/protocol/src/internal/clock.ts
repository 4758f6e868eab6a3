/** A running timer; opaque. */
export interface TimerHandle {
	/** Lets the process end although the timer runs. */
	unref?(): unknown;
	/** Keeps the process alive for the timer. */
	ref?(): unknown;
}

/** Time as everything in this project sees it: given, never taken, so that tests and simulations can own it. */
export interface Clock {
	/** Monotonic milliseconds since an arbitrary moment. */
	now(): number;
	/**
	 * Milliseconds since 1970, for what other processes are told or a later one reads. It may jump: durations within one
	 * process are taken from `now`.
	 */
	wallNow(): number;
	setTimeout(callback: () => void, delayMs: number): TimerHandle;
	clearTimeout(timer: TimerHandle | undefined): void;
}

/** The clock of the process. The globals are looked up at each call, so that a test may replace them. */
export const systemClock: Clock = Object.freeze({
	now: () => performance.now(),
	wallNow: () => Date.now(),
	setTimeout: (callback: () => void, delayMs: number) => setTimeout(callback, delayMs),
	clearTimeout: (timer: TimerHandle | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
});

/** A source of uniform numbers in [0, 1). */
export type Random = () => number;
