import type { Diplomat, KnownServiceQuery, Lease, ServiceQuery } from '@spock/client';
import {
	diplomatOption,
	FailedInstances,
	failedInstances,
	type HttpTargetOptions,
	serviceError,
} from '@spock/client/integrations';
import { integerOption, knownMembers, offAbort, onAbort } from '@spock/protocol/internal';

import type { Dispatch, DispatchHandler, DispatchOptions } from './any-undici.ts';
import { type Unanswered, untilAnswered } from './connect-retry.ts';
import type { Origin, Origins } from './origins.ts';
import { outcomeOfRequest, type RequestSettings, ServiceRequest } from './service-request.ts';

export const DEFAULT_CONNECT_RETRIES_MAX = 2;
/** One: a request that kills its instance must not go through all of them. */
export const DEFAULT_LOST_RETRIES_MAX = 1;
/** Safe methods (https://www.rfc-editor.org/rfc/rfc9110#name-safe-methods), which may be sent twice. */
export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** What Node and undici call a connection that ends under a request. */
const LOST_CODES: ReadonlySet<unknown> = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** What a request to a service is made with, by the interceptor and by the dispatcher. */
export interface ServiceOptions extends HttpTargetOptions {
	/** Finds the services; each request is reported to it. The caller owns and closes it. */
	readonly diplomat: Diplomat;
	/**
	 * Whether a response with this status counts as a failure of the instance; must not throw. Default: 502, 503 and 504, by
	 * which a proxy or a service reports that. Other statuses count as success.
	 */
	readonly isFailure?: (statusCode: number) => boolean;
	/**
	 * How many more instances are tried when one cannot be connected to. Nothing of the request has been sent then, so this is
	 * safe for every method and body. Default 2, 0 to 100.
	 */
	readonly connectRetriesMax?: number;
	/**
	 * How many more instances get a GET, HEAD or OPTIONS without a body whose connection was lost before any byte of an answer
	 * came, as when an instance is killed. Other requests may have been carried out, and fail. Default 1, 0 to 100.
	 */
	readonly lostRetriesMax?: number;
}

/** Where requests go on to. */
export interface Route {
	/** To the instance of the lease. */
	readonly toInstance: (lease: Lease) => Dispatch;
	/** To what is no service. */
	readonly elsewhere: Dispatch;
}

/** Requests to services: each is given an instance, in the same tick where one is known. */
export class ServiceDispatch {
	readonly #options: ServiceOptions;
	readonly #origins: Origins;
	readonly #settings: RequestSettings;
	readonly #route: Route;
	/**
	 * Where a request failed before, by its handler: undici's retry dispatches again with the handler it had, and must get
	 * another instance then.
	 */
	readonly #failed = new WeakMap<DispatchHandler, FailedInstances>();
	/** None once the dispatcher ends: what it would be sent by is closed. */
	#retriesMax: Readonly<Record<Unanswered, number>>;
	/** Requests that wait for an instance, by what ends their waiting. */
	readonly #waiting = new Map<AbortController, Promise<void>>();

	constructor(options: ServiceOptions, origins: Origins, route: Route) {
		const { diplomat, isFailure = isGatewayError } = options;
		const { connectRetriesMax = DEFAULT_CONNECT_RETRIES_MAX, lostRetriesMax = DEFAULT_LOST_RETRIES_MAX } = options;
		this.#retriesMax = { unsent: connectRetriesMax, sent: lostRetriesMax };
		this.#options = options;
		this.#origins = origins;
		this.#settings = { diplomat, isFailure };
		this.#route = route;
	}

	/** The `dispatch` of undici: the handler goes on as it is. */
	dispatch(options: DispatchOptions, handler: DispatchHandler): boolean {
		let origin: Origin | undefined;
		let lease: Lease | undefined;
		try {
			origin = this.#origins.find(options.origin);
			if (origin !== undefined) lease = this.#tryAcquire(origin, handler);
		} catch (error) {
			tell(handler, error);
			return false;
		}
		if (origin === undefined) return this.#route.elsewhere(options, handler);
		if (lease !== undefined) return this.#send(lease, origin, options, handler);
		const waiting = new AbortController();
		const sent = this.#sendLater(waiting, origin, options, handler).finally(() => this.#waiting.delete(waiting));
		this.#waiting.set(waiting, sent);
		return true;
	}

	/**
	 * Tries no other instance from now on, and resolves when no request waits for one. Each waits as long as the Diplomat lets it,
	 * at most.
	 */
	async settled(): Promise<void> {
		this.#retriesMax = { unsent: 0, sent: 0 };
		await Promise.allSettled(this.#waiting.values());
	}

	/** Fails the requests that wait for an instance. */
	cancel(error: Error): void {
		for (const waiting of this.#waiting.keys()) waiting.abort(error);
	}

	async #sendLater(
		waiting: AbortController,
		origin: Origin,
		options: DispatchOptions,
		handler: DispatchHandler,
	): Promise<void> {
		const signal = options.signal instanceof AbortSignal ? options.signal : undefined;
		const abort = (): void => waiting.abort(signal?.reason);
		if (signal?.aborted === true) abort();
		if (signal !== undefined) onAbort(signal, abort);
		try {
			this.#send(await this.#acquire(waiting.signal, origin, handler), origin, options, handler);
		} catch (error) {
			tell(handler, error);
		} finally {
			offAbort(signal, abort);
		}
	}

	/** Names are checked where they are written, and not here. */
	#tryAcquire({ query }: Origin, handler: DispatchHandler, around = failedInstances(query)): Lease | undefined {
		try {
			return this.#options.diplomat.tryAcquire(query as KnownServiceQuery, {
				exclude: this.#excluded(query, handler, around),
			});
		} catch (error) {
			throw serviceError(query, error);
		}
	}

	async #acquire(signal: AbortSignal, { query }: Origin, handler: DispatchHandler): Promise<Lease> {
		try {
			return await this.#options.diplomat.acquire(query as KnownServiceQuery, {
				exclude: this.#excluded(query, handler),
				signal,
			});
		} catch (error) {
			// As undici does it: who aborted is given back his own reason.
			throw signal.aborted ? signal.reason : serviceError(query, error);
		}
	}

	#send(lease: Lease, origin: Origin, options: DispatchOptions, handler: DispatchHandler): boolean {
		const failed = failedInstances(origin.query);
		// What becomes a connection of its own is not followed.
		if (options.method === 'CONNECT' || options.upgrade) {
			return this.#sendTo(lease, origin, options, handler, handler, failed);
		}
		let { instance } = lease.address;
		const retries = { unsent: 0, sent: 0 };
		const followed = untilAnswered(handler, (error, stage) => {
			if (retries[stage]++ >= this.#retriesMax[stage] || outcomeOfRequest(error) === 'cancelled') return false;
			if (stage === 'sent' && !(isLost(error) && isSafe(options))) return false;
			this.#remember(origin.query, handler, instance);
			const next = this.#tryAnother(origin, handler, failed);
			if (next === undefined) return false;
			instance = next.address.instance;
			this.#sendTo(next, origin, options, handler, followed, failed);
			return true;
		});
		return this.#sendTo(lease, origin, options, handler, followed, failed);
	}

	/** An instance where the request has not failed; undefined where there is none: the request then ends with the error it has. */
	#tryAnother(origin: Origin, handler: DispatchHandler, around: Set<string> | undefined): Lease | undefined {
		let lease: Lease | undefined;
		try {
			lease = this.#tryAcquire(origin, handler, around);
		} catch {
			return undefined;
		}
		if (lease === undefined || !this.#excluded(origin.query, handler, around)?.has(lease.address.instance))
			return lease;
		lease.release('cancelled');
		return undefined;
	}

	/** `followed` is what undici calls; the memory of a request's failures is kept by its own handler. */
	#sendTo(
		lease: Lease,
		origin: Origin,
		options: DispatchOptions,
		handler: DispatchHandler,
		followed: DispatchHandler,
		failed: Set<string> | undefined,
	): boolean {
		const request = new ServiceRequest(lease, this.#settings, (instance) => {
			failed?.add(instance);
			this.#remember(origin.query, handler, instance);
		});
		try {
			let addressed: DispatchOptions;
			try {
				addressed = this.#addressed(request, origin, options);
			} catch (error) {
				tell(handler, error);
				return false;
			}
			const dispatched = this.#route.toInstance(lease)(addressed, followed);
			// Undici says no more of these after their beginning, which then may last for days.
			if (options.method === 'CONNECT' || options.upgrade) request.letGo();
			return dispatched;
		} finally {
			request.dispatched();
		}
	}

	/** The options with the instance in the place of the service. */
	#addressed(request: ServiceRequest, { protocol, host }: Origin, options: DispatchOptions): DispatchOptions {
		const { query, address } = request.lease;
		const { keepHost = false, servername } = this.#options;
		const { path } = options;
		const at = address.host.includes(':') ? `[${address.host}]` : address.host;
		const changed: { headers?: unknown; servername?: string } = {};
		if (keepHost) changed.headers = withHost(options.headers, host);
		if (protocol === 'https:' && servername !== undefined && !options.servername) {
			changed.servername = typeof servername === 'string' ? servername : servername(query, address);
		}
		return {
			...options,
			...changed,
			origin: `${protocol}//${at}:${address.port}`,
			// Undici has no other place that says, of a request it makes, whose it is: see `announce`.
			get path(): string {
				request.read();
				return path;
			},
		};
	}

	/** Instances that this call has tried in vain: within undici's retry, and within `retry` of Spock. */
	#excluded(
		query: ServiceQuery,
		handler: DispatchHandler,
		around: ReadonlySet<string> | undefined = failedInstances(query),
	): ReadonlySet<string> | undefined {
		const here = this.#failed.get(handler)?.of(query);
		return here === undefined || around === undefined ? (here ?? around) : new Set([...here, ...around]);
	}

	#remember(query: ServiceQuery, handler: DispatchHandler, instance: string): void {
		const known = this.#failed.get(handler) ?? new FailedInstances();
		this.#failed.set(handler, known);
		known.of(query).add(instance);
	}
}

function isLost(error: unknown): boolean {
	return LOST_CODES.has((error as { readonly code?: unknown } | undefined)?.code);
}

/** Whether a request may be carried out twice, and can be sent twice. */
function isSafe({ method, body }: DispatchOptions): boolean {
	return SAFE_METHODS.has(method) && (body === undefined || body === null);
}

/** What `isFailure` is by default. */
export function isGatewayError(statusCode: number): boolean {
	return statusCode >= 502 && statusCode <= 504;
}

/** A request ends before undici has seen it: notifies its handler as undici would, by the name that it uses. */
function tell(handler: DispatchHandler, error: unknown): void {
	if (typeof handler.onResponseError === 'function') handler.onResponseError(null, error);
	else if (typeof handler.onError === 'function') handler.onError(error);
	else throw error;
}

/**
 * The headers with a Host header, unless they have one: in each of the forms that undici takes. Those that are given are
 * not changed.
 */
export function withHost(headers: unknown, host: string): unknown {
	if (headers === undefined || headers === null) return { host };
	if (typeof headers !== 'object') return headers;
	if (Array.isArray(headers)) return inList(headers, host);
	if (Symbol.iterator in headers) return inList([...(headers as Iterable<unknown>)].flat(1), host);
	return Object.keys(headers).some(isHost) ? headers : { host, ...headers };
}

/** In a list of names and values in turn. */
function inList(list: readonly unknown[], host: string): readonly unknown[] {
	return list.some((one, index) => index % 2 === 0 && isHost(one)) ? list : ['host', host, ...list];
}

function isHost(name: unknown): boolean {
	return typeof name === 'string' && name.toLowerCase() === 'host';
}

/** What the interceptor takes, and the dispatcher too. */
const KNOWN: readonly string[] = [
	...['diplomat', 'suffix', 'query', 'services'],
	...['keepHost', 'servername', 'isFailure', 'connectRetriesMax', 'lostRetriesMax'],
];

/** Throws a TypeError that names what is missing, wrong or unknown. `more` are options that the caller checks itself. */
export function checkOptions(caller: string, options: ServiceOptions, more: readonly string[] = []): void {
	if (typeof options !== 'object' || options === null) {
		throw new TypeError(`${caller} needs options: { diplomat }, the Diplomat that finds the services`);
	}
	knownMembers('option', options, [...KNOWN, ...more]);
	const { diplomat, keepHost, servername, isFailure } = options;
	const { connectRetriesMax = DEFAULT_CONNECT_RETRIES_MAX, lostRetriesMax = DEFAULT_LOST_RETRIES_MAX } = options;
	diplomatOption(diplomat);
	integerOption('connectRetriesMax', connectRetriesMax, 0, 100);
	integerOption('lostRetriesMax', lostRetriesMax, 0, 100);
	if (keepHost !== undefined && typeof keepHost !== 'boolean') {
		throw new TypeError(`keepHost must be true or false, not ${String(keepHost)}`);
	}
	if (servername !== undefined && typeof servername !== 'string' && typeof servername !== 'function') {
		throw new TypeError(`servername must be a string or a function, not ${typeof servername}`);
	}
	if (isFailure !== undefined && typeof isFailure !== 'function') {
		throw new TypeError(`isFailure must be a function, not ${typeof isFailure}`);
	}
}
