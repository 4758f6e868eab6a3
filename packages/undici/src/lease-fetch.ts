import { type KnownServiceQuery, type Lease, SpockError } from '@spock/client';
import { failedInstances, instanceError, outcomeOf, retry, serviceError } from '@spock/client/integrations';
import { isError, systemClock } from '@spock/protocol/internal';

import type { DispatcherOptions } from './agents.ts';
import { type Origin, Origins } from './origins.ts';
import {
	checkOptions,
	DEFAULT_CONNECT_RETRIES_MAX,
	DEFAULT_LOST_RETRIES_MAX,
	isGatewayError,
	SAFE_METHODS,
} from './service-dispatch.ts';

type Input = Parameters<typeof fetch>[0];

/** What the fetch of a runtime says of an address that it cannot connect to: Bun and Node by a code, Deno by its message. */
const UNCONNECTED = /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED)$|tcp connect error/;
/** Its message for a connection that ended before an answer began. */
const LOST = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|ConnectionClosed)$|connection (closed|reset)/i;

/**
 * A fetch by name for runtimes whose own fetch takes no dispatcher, such as Bun and Deno: the address of an instance takes the place of
 * the name, and how the request ends is reported once the head of its answer is there.
 */
export class LeaseFetch {
	readonly #options: DispatcherOptions;
	readonly #origins: Origins;
	/** Requests whose answer has not begun. */
	readonly #underWay = new Set<Promise<Response>>();
	readonly #stop = new AbortController();
	#isOpen = true;

	/** Throws a TypeError or BAD_REQUEST for wrong options, and for those that need a dispatcher. */
	constructor(options: DispatcherOptions) {
		checkOptions('createFetch', options, ['Agent', 'agentOptions']);
		for (const name of ['agentOptions', 'servername', 'keepHost'] as const) {
			if (options[name]) throw new TypeError(`${name} needs the fetch of Node: this runtime's takes no dispatcher`);
		}
		this.#options = options;
		this.#origins = new Origins(options);
	}

	/** As the global `fetch`. */
	fetch(input: Input, init: RequestInit = {}): Promise<Response> {
		const fetched = this.#fetch(input, init).finally(() => this.#underWay.delete(fetched));
		this.#underWay.add(fetched);
		return fetched;
	}

	/** Takes no more requests, and waits until those under way are answered. */
	async close(): Promise<void> {
		this.#isOpen = false;
		await Promise.allSettled(this.#underWay);
	}

	/** Fails the requests under way. */
	async destroy(error?: Error | null): Promise<void> {
		this.#stop.abort(error ?? new SpockError('CLOSED', 'this fetch was destroyed'));
		await this.close();
	}

	async #fetch(input: Input, init: RequestInit): Promise<Response> {
		if (!this.#isOpen) throw fetchFailed(new SpockError('CLOSED', 'this fetch was closed'));
		const url = new URL(input instanceof Request ? input.url : String(input));
		const given = init.signal ?? (input instanceof Request ? input.signal : undefined);
		const signal = given ? AbortSignal.any([given, this.#stop.signal]) : this.#stop.signal;
		let origin: Origin | undefined;
		try {
			origin = this.#origins.find(url.origin);
		} catch (error) {
			throw fetchFailed(error);
		}
		if (origin === undefined) return globalThis.fetch(input, { ...init, signal });
		const to = origin;
		const call = () => this.#fetchByName(to, url, input, { ...init, signal });
		const { connectRetriesMax = DEFAULT_CONNECT_RETRIES_MAX, lostRetriesMax = DEFAULT_LOST_RETRIES_MAX } =
			this.#options;
		if (!isRepeatable(input, init)) return call();
		let connectRetriesLeft = connectRetriesMax;
		let lostRetriesLeft = isSafe(input, init) ? lostRetriesMax : 0;
		const isRetryable = (error: unknown): boolean =>
			says(error, UNCONNECTED) ? connectRetriesLeft-- > 0 : says(error, LOST) && lostRetriesLeft-- > 0;
		return retry(call, { retriesMax: connectRetriesMax + lostRetriesMax, signal, isRetryable });
	}

	async #fetchByName({ query, protocol }: Origin, url: URL, input: Input, init: RequestInit): Promise<Response> {
		const { diplomat } = this.#options;
		const signal = init.signal as AbortSignal;
		const exclude = failedInstances(query);
		let lease: Lease;
		try {
			// Names are checked where they are written, and not here.
			lease = await diplomat.acquire(query as KnownServiceQuery, { signal, ...(exclude && { exclude }) });
		} catch (error) {
			throw signal.aborted ? signal.reason : fetchFailed(serviceError(query, error));
		}
		const { address } = lease;
		const at = address.host.includes(':') ? `[${address.host}]` : address.host;
		const target = `${protocol}//${at}:${address.port}${url.pathname}${url.search}`;
		const startedMs = systemClock.now();
		try {
			const response = await globalThis.fetch(input instanceof Request ? new Request(target, input) : target, init);
			const { isFailure = isGatewayError } = this.#options;
			lease.release(isFailure(response.status) ? 'failure' : 'success', systemClock.now() - startedMs);
			return response;
		} catch (error) {
			const outcome = signal.aborted ? outcomeOf(signal.reason) : 'failure';
			lease.release(outcome, systemClock.now() - startedMs);
			if (outcome === 'failure') exclude?.add(address.instance);
			throw signal.aborted ? error : fetchFailed(instanceError(query, address, error));
		}
	}
}

/** In the shape that Node's fetch gives its errors. */
function fetchFailed(cause: unknown): TypeError {
	return new TypeError('fetch failed', { cause });
}

/** Whether the same request can be made again: what reads a stream is not known here, and it can be read only once. */
function isRepeatable(input: Input, init: RequestInit): boolean {
	const body: unknown = init.body ?? (input instanceof Request ? input.body : undefined);
	return typeof body !== 'object' || body === null || !(Symbol.asyncIterator in body);
}

/** Whether a request may be carried out twice. */
function isSafe(input: Input, init: RequestInit): boolean {
	const method = init.method ?? (input instanceof Request ? input.method : 'GET');
	const body: unknown = init.body ?? (input instanceof Request ? input.body : undefined);
	return SAFE_METHODS.has(method.toUpperCase()) && (body === undefined || body === null);
}

/** Whether an error, or what led to it, is one of these by its code or its message. */
function says(error: unknown, what: RegExp): boolean {
	for (let one = error; isError(one); one = one.cause) {
		if (what.test(String((one as NodeJS.ErrnoException).code)) || what.test(one.message)) return true;
	}
	return false;
}
