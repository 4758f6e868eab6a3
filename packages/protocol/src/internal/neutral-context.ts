import { AsyncResource } from 'node:async_hooks';

/** Made when this module is loaded, which is in no request. */
const neutral = new AsyncResource('spock');

/**
 * Calls a function outside of every request: what it begins and outlives the call (a socket, a timer, a watch, a promise that is
 * cached) keeps no AsyncLocalStorage store of the request that happened to be the first, and is not traced as a part of it.
 */
export function inNeutralContext<T>(call: () => T): T {
	return neutral.runInAsyncScope(call);
}
