import type { CallOutcome, Diplomat, Lease, ServiceAddress, ServiceQuery } from '@spock/client';
import { instanceError, outcomeOf } from '@spock/client/integrations';
import { isError, systemClock } from '@spock/protocol/internal';

import { announce, listen, withdraw } from './request-events.ts';

/** What every request of an interceptor or dispatcher shares. */
export interface RequestSettings {
	readonly diplomat: Diplomat;
	readonly isFailure: (statusCode: number) => boolean;
}

/**
 * - `picked`: it has a lease, and undici has not made its request yet.
 * - `sent`: undici has made its request, and says how it ends: the lease is kept until then.
 * - `unfollowed`: its lease was given back, because undici may never say how it ends: it waits in a queue of a pool, it was
 *   answered by a mock or a cache, or it becomes a connection of its own (CONNECT, an upgrade).
 * - `followed`: undici did make a request of it after all; what it says is reported without a lease.
 */
type State = 'picked' | 'sent' | 'unfollowed' | 'followed' | 'ended';

/** One request to an instance, from the pick until undici says how it ended. */
export class ServiceRequest {
	readonly lease: Lease;
	readonly #settings: RequestSettings;
	/** Called with the instance when it failed. */
	readonly #onFailure: (instance: string) => void;
	#state: State = 'picked';
	/** What it listens by, while it has its lease. */
	#unlisten: () => void = () => undefined;
	#hasFailed = false;
	#startedMs: number = systemClock.now();
	/** How long the instance took to answer; undefined until it has. How long the body takes is no matter of its latency. */
	#answeredAfterMs: number | undefined;

	constructor(lease: Lease, settings: RequestSettings, onFailure: (instance: string) => void) {
		this.lease = lease;
		this.#settings = settings;
		this.#onFailure = onFailure;
	}

	/** Undici reads its options, and probably makes its request next. */
	read(): void {
		if (this.#state === 'picked') announce(this);
		if (this.#state !== 'unfollowed') return;
		announce(this);
		void Promise.resolve().then(() => withdraw(this));
	}

	/** Undici has made its request. */
	made(): void {
		if (this.#state === 'picked') {
			this.#state = 'sent';
			this.#unlisten = listen();
		} else if (this.#state === 'unfollowed') {
			this.#follow();
		}
	}

	/** It has been dispatched. What has not become a request by now may never do. */
	dispatched(): void {
		withdraw(this);
		if (this.#state === 'picked') this.letGo();
	}

	/** Releases the lease, because its end will not be reported. */
	letGo(): void {
		if (this.#state === 'picked') this.#state = 'unfollowed';
		else if (this.#state === 'sent') this.#follow();
		else return;
		this.#unlisten();
		this.lease.release('cancelled');
	}

	/** The instance has answered; 1xx are no answers yet. */
	answered(statusCode: number): void {
		if (statusCode < 200) return;
		this.#answeredAfterMs = systemClock.now() - this.#startedMs;
		this.#hasFailed = this.#settings.isFailure(statusCode);
	}

	completed(): void {
		this.#end(this.#hasFailed ? 'failure' : 'success');
	}

	failed(error: unknown): void {
		if (this.#state === 'ended') return;
		const outcome = this.#hasFailed ? 'failure' : outcomeOfRequest(error);
		// The diagnostics channel precedes the handler: the handler's error then has the names too.
		if (outcome === 'failure') nameInstance(error, this.lease.query, this.lease.address);
		this.#end(outcome);
	}

	#follow(): void {
		this.#state = 'followed';
		this.#startedMs = systemClock.now();
	}

	#end(outcome: CallOutcome): void {
		const state = this.#state;
		if (state === 'ended') return;
		this.#state = 'ended';
		const { instance } = this.lease.address;
		const durationMs = this.#answeredAfterMs ?? systemClock.now() - this.#startedMs;
		if (outcome === 'failure') this.#onFailure(instance);
		if (state === 'followed') {
			// The address itself: the client knows its service, and the key of its record.
			this.#settings.diplomat.report(this.lease.address, outcome, durationMs);
		} else {
			this.#unlisten();
			this.lease.release(outcome, durationMs);
		}
	}
}

/** Errors of undici that the caller has brought about (https://undici.nodejs.org/#/docs/api/Errors). */
const CALLERS_CODES: ReadonlySet<unknown> = new Set([
	'UND_ERR_ABORTED',
	'UND_ERR_DESTROYED',
	'UND_ERR_CLOSED',
	'UND_ERR_INVALID_ARG',
	'UND_ERR_NOT_SUPPORTED',
	'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** What OpenSSL says of an answer in plain text, with one code or another (ERR_SSL_WRONG_VERSION_NUMBER, EPROTO). */
const NO_TLS = /wrong version number|packet length too long/i;

/**
 * What the error of a request says of the instance. An error that has no code is none of undici or Node: it is a reason to
 * abort that the caller made, or came out of the caller's own handler or body. A caller's time-out is a failure.
 */
export function outcomeOfRequest(error: unknown): CallOutcome {
	if (outcomeOf(error) === 'cancelled') return 'cancelled';
	const { name, code } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
	if (name === 'TimeoutError' || name === 'HTTPParserError') return 'failure';
	return typeof code === 'string' && !CALLERS_CODES.has(code) ? 'failure' : 'cancelled';
}

/**
 * Makes an error of undici or Node say which instance of which service it is about: in its message, in `service` and
 * `instance`, and in a SpockError as its cause if it has none. Its class and code stay, because undici's retry looks at
 * them. What the caller made, such as the reason of an abort, is left alone.
 */
export function nameInstance(error: unknown, query: ServiceQuery, address: ServiceAddress): void {
	if (!isError(error) || error instanceof DOMException || !Object.isExtensible(error)) return;
	// One error of a connection ends every request on it.
	if (Object.hasOwn(error, 'service')) return;
	const { message, stack } = error;
	// Where every address of a name failed, Node's message is empty.
	const told = message === '' ? String((error as { readonly code?: unknown }).code) : message;
	const why = NO_TLS.test(told) ? `it does not speak TLS: ${told}` : told;
	const named = instanceError(query, address, why);
	define(error, 'service', query.service, true);
	define(error, 'instance', address.instance, true);
	define(error, 'message', named.message, false);
	if (error.cause === undefined) define(error, 'cause', named, false);
	// The stack holds the message as it was when the error was made, and is what is printed.
	if (typeof stack === 'string' && message !== '') {
		define(
			error,
			'stack',
			stack.replace(message, () => named.message),
			false,
		);
	}
}

function define(error: Error, key: string, value: unknown, enumerable: boolean): void {
	Reflect.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
