import { performance } from 'node:perf_hooks';
// Not the globals: fake timers replace those, perhaps before this module is loaded.
import * as timers from 'node:timers';

import { inNeutralContext } from './neutral-context.ts';

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

const { now: dateNow } = Date;
// Not looked up at each call, as CommonJS does with what it imports: fake timers replace the members of this module too.
const { clearTimeout, setTimeout } = timers;

/** Node's own, bound as the timers of {@link systemClock} are. */
export const setImmediate: typeof timers.setImmediate = timers.setImmediate;
/** Node's own, bound as the timers of {@link systemClock} are. */
export const clearImmediate: typeof timers.clearImmediate = timers.clearImmediate;

/**
 * The clock of the process, bound when this module is loaded: a test of an app that replaces the globals by fake ones for a while
 * (Vitest, Jest, Sinon) must not stop deadlines and reconnects. Tests of this project give a clock of their own.
 *
 * Timers belong to no request: they run in the neutral context.
 */
export const systemClock: Clock = Object.freeze({
	now: () => performance.now(),
	wallNow: () => dateNow(),
	setTimeout: (callback: () => void, delayMs: number) => inNeutralContext(() => setTimeout(callback, delayMs)),
	clearTimeout: (timer: TimerHandle | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
});

/** A source of uniform numbers in [0, 1). */
export type Random = () => number;
