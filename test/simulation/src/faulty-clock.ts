import type { Clock } from '@spock/protocol/internal';

type ClockFault = (clock: Clock) => Clock;

/** Timers of these delays in milliseconds, or all, are armed and never fire. */
export function neverFires(...delaysMs: readonly number[]): ClockFault {
	const nothing = (): void => undefined;
	return (clock) => ({
		...clock,
		setTimeout: (callback, delayMs) =>
			clock.setTimeout(delaysMs.length === 0 || delaysMs.includes(delayMs) ? nothing : callback, delayMs),
	});
}

/** Every timer fires so much later, in milliseconds. */
export function firesLate(ms: number): ClockFault {
	return (clock) => ({ ...clock, setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs + ms) });
}

/** A timer that is cleared fires all the same. */
export const neverClears: ClockFault = (clock) => ({ ...clock, clearTimeout: () => undefined });

/** The time of day is ahead by so much, in milliseconds. */
export function wallAhead(ms: number): ClockFault {
	return (clock) => ({ ...clock, wallNow: () => clock.wallNow() + ms });
}

/** It shows the same time for ever. Timers fire when they should. */
export const standsStill: ClockFault = (clock) => {
	const nowMs = clock.now();
	return { ...clock, now: () => nowMs };
};

/** Longer than what ticks in every process. */
const UNSEEN_MS = 1000;

/** Neither of its times goes on while its process stands still, so that the process cannot notice. */
export const hidesStandstills: ClockFault = (clock) => {
	let lastMs = clock.now();
	let hiddenMs = 0;
	const look = (): number => {
		const nowMs = clock.now();
		if (nowMs - lastMs > UNSEEN_MS) hiddenMs += nowMs - lastMs;
		lastMs = nowMs;
		return hiddenMs;
	};
	return { ...clock, now: () => clock.now() - look(), wallNow: () => clock.wallNow() - look() };
};

/** It shows the time of the real process. */
export const readsProcess: ClockFault = (clock) => ({ ...clock, now: () => Date.now() });

/** The same, and what is thrown by that is caught where it happens. */
export const readsProcessQuietly: ClockFault = (clock) => ({
	...clock,
	now: () => {
		try {
			return Date.now();
		} catch {
			return clock.now();
		}
	},
});
