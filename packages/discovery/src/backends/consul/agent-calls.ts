import type { IncomingMessage } from 'node:http';

import { SpockError } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';

import { type ConsulQuestion, type ConsulRequest, sendRequest } from './client/consul-client.ts';
import { notJson } from './client/consul-error.ts';
import type { ConsulHttp } from './http/consul-http.ts';

/** A write is short: the next one, or the retry, must not wait long for it. */
const WRITE_MS = 5000;
/** A server that has just started knows no token until it has read its data: one that was good is believed to be gone after this. */
const TOKEN_DOUBTED_MS = 10_000;
const BAD_REQUEST = 400;
const NOT_FOUND = 404;
/** How agents before 1.7 answer where they do not know a check or a service, with status 500. */
const UNKNOWN_THERE = /unknown (?:check|service)|does not have associated TTL/i;

/** What Consul answered, and the token that it was asked with. */
interface Answered<T> {
	readonly value: T;
	readonly token: string | undefined;
}

/**
 * Calls of `/v1/agent` at one address. Errors mean what they mean to a write: BAD_REQUEST, NO_SUCH_SERVICE for what the agent does not
 * know, ACL_DENIED, and UNAVAILABLE.
 */
export class AgentCalls {
	readonly #http: ConsulHttp;
	readonly #number: number;
	/** The token that Consul accepted last, and since when it no longer knows it. */
	#accepted: { readonly token: string | undefined; readonly unknownSinceMs?: number } | undefined;

	/** `number` of the address among those of `http`. */
	constructor(http: ConsulHttp, number: number) {
		this.#http = http;
		this.#number = number;
	}

	async get<T>(path: string, filter?: string): Promise<Readonly<Record<string, T>>> {
		return (await this.list<T>(path, filter)).value;
	}

	list<T>(path: string, filter?: string): Promise<Answered<Readonly<Record<string, T>>>> {
		return this.#call({ method: 'GET', path }, filter ? { filter } : {}, (response, body) => {
			if (!isObject(body)) throw notJson(response);
			return body as Readonly<Record<string, T>>;
		});
	}

	/** Gives the token that it was sent with. */
	async put(
		path: string,
		body?: unknown,
		parameters: Readonly<Record<string, string>> = {},
	): Promise<string | undefined> {
		const request: ConsulRequest = { method: 'PUT', path, ...(body !== undefined && { body }) };
		const { token } = await this.#call(request, parameters, (response, answer) => {
			// Consul answers a write with nothing; a page is from another server.
			if (typeof answer === 'string' && answer.trim() !== '') throw notJson(response);
		});
		return token;
	}

	async #call<T>(
		request: ConsulRequest,
		parameters: Readonly<Record<string, string>>,
		read: (response: IncomingMessage, body: unknown) => T,
	): Promise<Answered<T>> {
		// An agent registers in its own datacenter, whichever one is asked for lookups.
		const { dc: _, ...place } = this.#http.placeParameters();
		let token: string | undefined;
		const send: ConsulQuestion<T>['send'] = (client, common) => {
			token = common.token;
			return sendRequest(client, common, request);
		};
		try {
			const question = { parameters: { ...place, ...parameters }, send, read };
			const value = await this.#http.call(question, { only: this.#number, timeoutMs: WRITE_MS });
			this.#accepted = { token };
			return { value, token };
		} catch (error) {
			throw asWriteError(this.#isDoubtful(error, token) ? asUnavailable(error) : error);
		}
	}

	/** True where Consul has only just stopped to know a token that it accepted: it may have restarted. */
	#isDoubtful(error: unknown, token: string | undefined): error is SpockError {
		if (!SpockError.is(error, 'ACL_DENIED') || error.details['isUnknownToken'] !== true) return false;
		if (this.#accepted === undefined || this.#accepted.token !== token) return false;
		const nowMs = this.#http.clock.now();
		const { unknownSinceMs = nowMs } = this.#accepted;
		this.#accepted = { token, unknownSinceMs };
		return nowMs - unknownSinceMs < TOKEN_DOUBTED_MS;
	}
}

/** An error that is worth a retry. */
function asUnavailable(cause: SpockError): SpockError {
	return new SpockError('UNAVAILABLE', cause.message, { details: cause.details, cause });
}

/** What an answer means to a write: a definition that Consul refuses, and an instance that it does not know. */
function asWriteError(reason: unknown): unknown {
	if (!SpockError.is(reason, 'UNAVAILABLE')) return reason;
	const { message, details } = reason;
	const { status } = details;
	if (status === BAD_REQUEST) return new SpockError('BAD_REQUEST', message, { details, cause: reason });
	if (status === NOT_FOUND || (status === 500 && UNKNOWN_THERE.test(message))) {
		return new SpockError('NO_SUCH_SERVICE', message, { details, cause: reason });
	}
	return reason;
}
