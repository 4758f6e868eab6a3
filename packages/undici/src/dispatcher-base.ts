import { EventEmitter } from 'node:events';

import type { AnyDispatcher, Dispatch } from './undici-types.ts';

/**
 * A new object of undici's class `Dispatcher`, from which the agent's class comes: it has `compose`, and `request` and
 * `stream` with npm's, of just that version. What it cannot do is to dispatch. Throws a TypeError for another's agent.
 */
export function newBase(agent: AnyDispatcher): EventEmitter {
	let prototype: object | null = Object.getPrototypeOf(agent);
	while (prototype !== null && !Object.hasOwn(prototype, 'compose')) prototype = Object.getPrototypeOf(prototype);
	const base: unknown = prototype === null ? undefined : new (prototype.constructor as new () => unknown)();
	if (!(base instanceof EventEmitter)) throw new TypeError('Agent must be the class Agent of undici 6, 7 or 8');
	return base;
}

/** What undici's agents emit, and so do dispatchers over them. */
const EVENTS = ['connect', 'disconnect', 'connectionError', 'drain'] as const;

/** What one emits, the other does too. */
export function forwardEvents(from: AnyDispatcher, to: EventEmitter): void {
	if (!(from instanceof EventEmitter)) return;
	for (const name of EVENTS) from.on(name, (...args: unknown[]) => to.emit(name, ...args));
}

/** The agent's `dispatch`, bound. */
export function dispatchOf(agent: AnyDispatcher): Dispatch {
	const dispatch = agent.dispatch as Dispatch;
	return (options, handler) => dispatch.call(agent, options, handler);
}

/** As undici's: the last argument may be a callback, in the place of the promise that it gives otherwise. */
export function withCallback(
	end: (error: Error | null) => Promise<void>,
): (...given: readonly unknown[]) => Promise<void> | undefined {
	return (...given) => {
		const ended = end(given[0] instanceof Error ? given[0] : null);
		const callback = given.find((one) => typeof one === 'function');
		if (callback === undefined) return ended;
		void ended.then(
			() => callback(null, null),
			(error) => callback(error),
		);
		return undefined;
	};
}
