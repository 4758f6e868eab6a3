import { type Clock, isError, systemClock } from '@spock/protocol/internal';

import { Agents, type DispatcherOptions } from './agents.ts';
import { type AnyAgentClass, type AnyDispatcher, fetchHasDispatchers } from './any-undici.ts';
import { LeaseFetch } from './lease-fetch.ts';
import { checkOptions } from './service-dispatch.ts';

/** What there is beside undici's own `Dispatcher`: the ends of its life. */
export interface ServiceDispatcher extends AsyncDisposable {
	/** Takes no more requests, waits for those under way, and closes every connection. Idempotent. */
	close(): Promise<void>;
	/** Fails every request with the error, or undici's ClientDestroyedError, and closes every connection. Idempotent. */
	destroy(error?: Error | null): Promise<void>;
}

/** The dispatcher that the global `fetch` takes, in the words of the app's own types. */
export type FetchDispatcher = RequestInit extends { dispatcher?: infer D } ? NonNullable<D> : AnyDispatcher;

/** What `compose` of an agent gives: undici's `Dispatcher` in its version. */
export type DispatcherOf<A> = A extends { compose(...interceptors: never[]): infer D } ? D : A;

/**
 * A dispatcher for `fetch(url, { dispatcher })` and `request(url, { dispatcher })`: requests to `http://barista.spock/…` go
 * to an instance of `barista`, each to one of its own, and how it ends is reported; others go on as without it. Where an
 * instance cannot be connected to, nothing was sent, and another one gets the request, whatever its method: `connectRetriesMax`
 * more at most. Every instance has an agent of its own, closed gracefully once its instance has left the service. With `compose` interceptors of
 * undici stand around it: `createDispatcher({ diplomat, Agent }).compose(interceptors.retry())` retries at another instance.
 *
 * Its requests fail as those of `spockInterceptor` do. The caller ends it with `close` or `destroy`; the Diplomat stays open.
 * Throws a TypeError or BAD_REQUEST for wrong options.
 */
export function createDispatcher(
	options: DispatcherOptions & { readonly Agent?: undefined },
): FetchDispatcher & ServiceDispatcher;
export function createDispatcher<A extends AnyAgentClass>(
	options: DispatcherOptions<A> & { readonly Agent: A },
): DispatcherOf<InstanceType<A>> & ServiceDispatcher;
export function createDispatcher(options: DispatcherOptions): AnyDispatcher & ServiceDispatcher {
	return dispatcherWith(options, systemClock);
}

/** As `createDispatcher`, by a clock. */
export function dispatcherWith(options: DispatcherOptions, clock: Clock): AnyDispatcher & ServiceDispatcher {
	checkOptions('createDispatcher', options, ['Agent', 'agentOptions']);
	const agents = new Agents(options, clock);
	// Undici's base class has `compose` and, with npm's, `request` and `stream`; nothing of it is changed.
	return Object.assign(agents.events, {
		dispatch: agents.dispatch,
		close: withCallback(() => agents.close()),
		destroy: withCallback((error) => agents.destroy(error)),
		[Symbol.asyncDispose]: () => agents.close(),
	}) as unknown as AnyDispatcher & ServiceDispatcher;
}

/** As undici's: the last argument may be a callback, in the place of the promise that it gives otherwise. */
export function withCallback(
	end: (error: Error | null) => Promise<void>,
): (...given: readonly unknown[]) => Promise<void> | undefined {
	return (...given) => {
		const ended = end(isError(given[0]) ? given[0] : null);
		const callback = given.find((one) => typeof one === 'function');
		if (callback === undefined) return ended;
		void ended.then(
			() => callback(null, null),
			(error) => callback(error),
		);
		return undefined;
	};
}

/** A `fetch` that finds services by name, and the ends of its life: those of its dispatcher. */
export type ServiceFetch = typeof globalThis.fetch & ServiceDispatcher;

/**
 * The `fetch` built into Node with a dispatcher of its own, in Bun and Deno without one: `await fetch('http://barista.spock/menu')` goes to a healthy
 * instance of `barista`; other URLs are fetched as always. Its types are those of the global `fetch`, also where
 * TypeScript's DOM library, whose `RequestInit` has no `dispatcher`, is loaded. Requests end as those of {@link createDispatcher} do.
 * The caller ends it with `close` or `destroy`; the Diplomat stays open. Throws a TypeError or BAD_REQUEST for wrong options.
 */
export function createFetch(options: DispatcherOptions & { readonly Agent?: undefined }): ServiceFetch {
	const [fetchService, ends] = fetchHasDispatchers() ? dispatchedFetch(options) : leasedFetch(options);
	return Object.assign(fetchService, {
		close: () => ends.close(),
		destroy: (error?: Error | null) => ends.destroy(error),
		[Symbol.asyncDispose]: () => ends.close(),
	});
}

type FetchAndEnds = readonly [fetch: typeof globalThis.fetch, ends: Pick<ServiceDispatcher, 'close' | 'destroy'>];

function dispatchedFetch(options: DispatcherOptions & { readonly Agent?: undefined }): FetchAndEnds {
	const dispatcher = createDispatcher(options);
	return [(input, init) => globalThis.fetch(input, { ...init, dispatcher } as RequestInit), dispatcher];
}

function leasedFetch(options: DispatcherOptions): FetchAndEnds {
	const leased = new LeaseFetch(options);
	return [(input, init) => leased.fetch(input, init as RequestInit), leased];
}
