import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Diplomat } from '@spock/client';

/** A request that is notified of what undici does with it. */
export interface FollowedRequest {
	made(): void;
	answered(statusCode: number): void;
	completed(): void;
	failed(error: unknown): void;
}

/** Where undici's own request keeps ours: a WeakMap of short-lived keys costs the garbage collector more than the request. */
const OURS = Symbol('@spock/undici');

// What undici publishes of each request, that of npm and that of Node alike, so that no handler has to be wrapped:
// https://undici.nodejs.org/#/docs/api/DiagnosticsChannel
interface RequestMessage {
	readonly request: { [OURS]?: FollowedRequest };
	readonly response?: { readonly statusCode: number };
	readonly error?: unknown;
}

/** Whose request undici is making now: see `announce`. */
let announced: FollowedRequest | undefined;
/** Interceptors and dispatchers that are in use, and requests with a lease. */
let users = 0;

const listeners: ReadonlyArray<readonly [string, (message: RequestMessage) => void]> = [
	['undici:request:create', onCreate],
	['undici:request:headers', ({ request, response }) => request[OURS]?.answered(response?.statusCode ?? 0)],
	['undici:request:trailers', ({ request }) => request[OURS]?.completed()],
	['undici:request:error', ({ request, error }) => request[OURS]?.failed(error)],
];

/**
 * Listens to what undici publishes until the function that it gives is called; that listens no more when it was the last.
 */
export function listen(): () => void {
	if (users++ === 0) for (const [name, listener] of listeners) subscribe(name, listener as (message: unknown) => void);
	let isListening = true;
	return () => {
		if (!isListening) return;
		isListening = false;
		if (--users > 0) return;
		for (const [name, listener] of listeners) unsubscribe(name, listener as (message: unknown) => void);
	};
}

/** What listens until its Diplomat has ended, by the Diplomat: whoever ends before it leaves nothing behind in it. */
const untilClosed = new WeakMap<Diplomat, Set<() => void>>();

/** As `listen`, and by itself no longer than the Diplomat is open. */
export function listenFor(diplomat: Diplomat): () => void {
	let open = untilClosed.get(diplomat);
	if (open === undefined) {
		open = new Set();
		untilClosed.set(diplomat, open);
		void diplomat.closed.then(() => {
			for (const end of untilClosed.get(diplomat) ?? []) end();
		});
	}
	const all = open;
	const unlisten = listen();
	const end = (): void => {
		all.delete(end);
		unlisten();
	};
	all.add(end);
	return end;
}

/**
 * Says whose request undici makes next. Called when undici reads the options, which it does once, within the tick in which
 * it publishes the request, also where a pool had queued them for a while.
 */
export function announce(request: FollowedRequest): void {
	announced = request;
}

/** Ends what `announce` began: who reads the options and makes no request must not be taken for the next that does. */
export function withdraw(request: FollowedRequest): void {
	if (announced === request) announced = undefined;
}

function onCreate({ request }: RequestMessage): void {
	if (announced === undefined) return;
	request[OURS] = announced;
	announced.made();
	announced = undefined;
}
