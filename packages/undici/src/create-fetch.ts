import { createDispatcher, type DispatcherOptions, type ServiceDispatcher } from './dispatcher.ts';

/** A `fetch` that finds services by name, and the ends of its life: those of its dispatcher. */
export type ServiceFetch = typeof globalThis.fetch & ServiceDispatcher;

/**
 * The `fetch` built into Node, with a dispatcher of its own: `await fetch('http://barista.spock/menu')` goes to a healthy
 * instance of `barista`; other URLs are fetched as always. Its types are those of the global `fetch`, also where
 * TypeScript's DOM library, whose `RequestInit` has no `dispatcher`, is loaded. Requests fail as those of
 * {@link createDispatcher} do. The caller ends it with `close` or `destroy`; the Diplomat stays open. Throws a TypeError or
 * BAD_REQUEST for wrong options.
 */
export function createFetch(options: DispatcherOptions & { readonly Agent?: undefined }): ServiceFetch {
	const dispatcher = createDispatcher(options);
	const fetchService = (input: Parameters<typeof fetch>[0], init?: RequestInit) =>
		globalThis.fetch(input, { ...init, dispatcher } as RequestInit);
	return Object.assign(fetchService, {
		close: () => dispatcher.close(),
		destroy: (error?: Error | null) => dispatcher.destroy(error),
		[Symbol.asyncDispose]: () => dispatcher.close(),
	});
}
