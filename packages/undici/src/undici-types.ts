/**
 * What this package needs to know of undici, in its own words: nothing here is bound to one of undici's versions, of which
 * a process may have two, that of the built-in fetch and that of npm.
 */
export interface DispatchOptions {
	readonly origin?: string | URL;
	readonly path: string;
	readonly method: string;
	readonly headers?: unknown;
	readonly servername?: string | null;
	readonly upgrade?: unknown;
	/** Not undici's dispatchers look at it but its `request`, which leaves it among the options. */
	readonly signal?: unknown;
}

/** Who is told what becomes of a request: by the names of undici 7 and 8, or by those of 6, or by both. */
export interface DispatchHandler {
	onResponseError?(controller: unknown, error: unknown): void;
	onError?(error: unknown): void;
}

/** Starts a request. False: it was taken, but the next one had better wait for the event `drain`. */
export type Dispatch = (options: DispatchOptions, handler: DispatchHandler) => boolean;

/** The `dispatch` of any version of undici. */
export type AnyDispatch = (options: never, handler: never) => boolean;

/** The dispatchers of any version of undici. */
export interface AnyDispatcher {
	dispatch: AnyDispatch;
	close(): Promise<void>;
	destroy(error?: Error | null): Promise<void>;
}

/** The class `Agent` of any version of undici. */
// biome-ignore lint/suspicious/noExplicitAny: the options are those of the version that is given.
export type AnyAgentClass = new (options?: any) => AnyDispatcher;
