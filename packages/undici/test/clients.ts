import type { Diplomat } from '@spock/client';

import type { AnyAgentClass } from '../src/any-undici.ts';
import { createDispatcher, type DispatcherOptions, spockInterceptor } from '../src/index.ts';

/** A dispatcher, whatever version of undici it belongs to. */
export interface Dispatcher {
	close(): Promise<void>;
	destroy(error?: Error | null): Promise<void>;
	compose(...interceptors: unknown[]): Dispatcher;
}

/** An answer, read to its end. */
export interface Reply {
	readonly status: number;
	readonly text: string;
}

/** How a request is made. */
export interface RequestInit {
	readonly dispatcher: Dispatcher;
	readonly method?: string;
	readonly headers?: Record<string, string>;
	readonly body?: string;
	readonly signal?: AbortSignal;
	/** The server's name in TLS; `fetch` has no such option. */
	readonly servername?: string;
}

/** One of undici's ways to make a request. */
export interface Client {
	readonly name: string;
	/** Undefined for the fetch built into Node. */
	readonly Agent: AnyAgentClass | undefined;
	/** `interceptors.retry`; undefined for the fetch built into Node, which has none. */
	readonly retry: ((options: object) => unknown) | undefined;
	get(url: string, init: RequestInit): Promise<Reply>;
}

/** Undici of npm, as far as its versions are alike. */
export interface Undici {
	readonly Agent: AnyAgentClass;
	readonly MockAgent: AnyAgentClass;
	readonly interceptors: { retry(options: object): unknown; redirect(options: object): unknown };
	request(
		url: string,
		init: object,
	): Promise<{ readonly statusCode: number; readonly body: { text(): Promise<string> } }>;
	fetch(url: string, init: object): Promise<Response>;
	upgrade(url: string, init: object): Promise<{ readonly socket: { destroy(): void } }>;
	connect(url: string, init: object): Promise<unknown>;
	setGlobalDispatcher(dispatcher: unknown): void;
	/** By its `request`. */
	get(url: string, init: RequestInit): Promise<Reply>;
}

function withGet(undici: unknown): Undici {
	const { request } = undici as Undici;
	const get: Undici['get'] = async (url, init) => {
		const { statusCode, body } = await request(url, init);
		return { status: statusCode, text: await body.text() };
	};
	return { ...(undici as Undici), get };
}

// Node's own undici first: a later one that is loaded before it takes its place as the global dispatcher.
void globalThis.Response;
/** The agent of Node's own undici, before a later one wraps it. */
const BuiltInAgent = (Reflect.get(globalThis, fetchSymbol()) as { readonly constructor: AnyAgentClass } | undefined)
	?.constructor;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/** Undici 8 asks for Node 22.19; the suite runs on a later Node too. */
const hasUndici8 = major > 22 || (major === 22 && minor >= 19);

/** Those of npm that run on this Node, with the names of their packages. */
export const undicis: ReadonlyArray<readonly [string, Undici]> = [
	['undici 7', withGet(await import('undici7'))],
	...(hasUndici8 ? [['undici 8', withGet(await import('undici8'))] as const] : []),
];

/** Every way to make a request on this Node. */
export const clients: readonly Client[] = [
	{ name: 'built-in fetch', Agent: undefined, retry: undefined, get: fetcher(fetch) },
	...undicis.flatMap(([name, { Agent, interceptors, get, fetch: npmFetch }]) => [
		{ name: `${name} fetch`, Agent, retry: interceptors.retry, get: fetcher(npmFetch) },
		{ name: `${name} request`, Agent, retry: interceptors.retry, get },
	]),
];

function fetcher(fetchFunction: (url: string, init: object) => Promise<Response>): Client['get'] {
	return async (url, init) => {
		const response = await fetchFunction(url, init);
		return { status: response.status, text: await response.text() };
	};
}

type Options = Omit<DispatcherOptions, 'diplomat' | 'Agent'>;

/** The ready dispatcher. */
export function ready({ Agent }: Client, diplomat: Diplomat, options: Options = {}): Dispatcher {
	const all = { ...options, diplomat };
	const made: unknown = Agent === undefined ? createDispatcher(all) : createDispatcher({ ...all, Agent });
	return made as Dispatcher;
}

/** An agent with the interceptor; for the fetch built into Node that of its own class. */
export function composed({ Agent }: Client, diplomat: Diplomat, options: Options = {}): Dispatcher {
	const { agentOptions, ...rest } = options;
	const Class = Agent ?? BuiltInAgent;
	if (Class === undefined) throw new Error('this Node has no agent of its own');
	const agent = new Class(agentOptions) as unknown as Dispatcher;
	return agent.compose(spockInterceptor({ ...rest, diplomat }));
}

function fetchSymbol(): symbol {
	void globalThis.Response;
	return Symbol.for(`undici.globalDispatcher.${Number.parseInt(process.versions['undici'] ?? '', 10) < 8 ? 1 : 2}`);
}
