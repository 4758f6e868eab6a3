import { AsyncResource } from 'node:async_hooks';
import { performance } from 'node:perf_hooks';
// Not the globals: fake timers replace those, perhaps before this module is loaded.
import * as timers from 'node:timers';

class NeutralContext extends AsyncResource {
	/** What looks for reasons why a process does not end (`jest --detectOpenHandles`, why-is-node-running) asks this. */
	hasRef(): boolean {
		return false;
	}
}

/**
 * Made when this module is loaded, which is in no request unless an app first loads it within one: then the store of that request
 * stays. Node has no way to leave every store (Node 20 to 26, tried), so docs/reference/diagnostics.md tells apps to load it at start.
 */
const neutral = new NeutralContext('spock');

/**
 * Calls a function outside of every request: what it begins and outlives the call (a socket, a timer, a watch, a promise that is
 * cached) keeps no AsyncLocalStorage store of the request that happened to be the first, and is not traced as a part of it.
 */
export function inNeutralContext<T>(call: () => T): T {
	return neutral.runInAsyncScope(call);
}

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
const defer = queueMicrotask;

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

/**
 * Calls what is not ours: a listener of the app. A fault of it is raised where the process hears of it, as an uncaught
 * exception, and disturbs neither the caller nor the listeners that are told after it.
 */
export function callOut(listener: () => void): void {
	try {
		listener();
	} catch (fault) {
		defer(() => {
			throw fault;
		});
	}
}

/** A source of uniform numbers in [0, 1). */
export type Random = () => number;
