import type { IncomingMessage } from 'node:http';

import { type BackendStatus, SpockError } from '@spock/protocol';
import {
	type Clock,
	durationMsOption,
	integerOption,
	oneOfOption,
	stringOption,
	systemClock,
} from '@spock/protocol/internal';

import type { FetchAnswer } from '../watch-loop.ts';
import { type ConsulAddress, parseConsulAddress } from './consul-address.ts';
import { type ConsulAnswer, ConsulCall, type ConsulParameters, sendWithDeadline } from './consul-call.ts';
import { type ConsulClient, type ConsulCommon, createClient } from './consul-client.ts';
import { consulError } from './consul-error.ts';
import { type ConsulConnectionOptions, DEFAULT_CONSUL_ADDRESS, DEFAULT_CONSUL_WAIT_MS } from './consul-options.ts';
import { ConsulToken } from './consul-token.ts';

/** A deadline for calls that do not block. */
const CALL_MS = 10_000;
/** The server adds up to a sixteenth of the wait as jitter; two seconds more are for the network and a busy machine. */
const WAIT_SLACK = 1.0625;
const WAIT_SLACK_MS = 2000;
/** Queries that may block at once. Those beyond it do not block, so that none waits for a socket. */
const BLOCKING_MAX = 100;

interface Endpoint {
	readonly address: ConsulAddress;
	readonly client: ConsulClient;
}

/** What to ask Consul, whichever address answers. */
export interface ConsulQuestion<T> {
	/** Query parameters, all of them: the npm package drops most of those that it is given. */
	readonly parameters?: ConsulParameters;
	/** Sent as JSON in place of what the npm package would make of its options. */
	readonly body?: unknown;
	/** A longer answer is FRAME_TOO_LARGE. Default: no limit. */
	readonly answerBytesMax?: number;
	/** Makes the call: a method of the package's client, or `sendRequest`. */
	readonly send: (client: ConsulClient, common: ConsulCommon) => Promise<unknown>;
	/** Throws what makes the answer no answer: another address is asked then. */
	readonly read: (response: IncomingMessage, body: unknown) => T;
}

/** How one call that does not block is made. */
export interface ConsulCallOptions {
	readonly signal?: AbortSignal | undefined;
	/** For all addresses together, in milliseconds. Default 10000. */
	readonly timeoutMs?: number | undefined;
	/** Asks the first address alone: what belongs to one agent (a registration) means nothing to the others. */
	readonly isFirstOnly?: boolean;
}

interface Ask {
	readonly parameters: ConsulParameters;
	readonly timeoutMs: number;
	readonly isBlocking: boolean;
}

/**
 * Consul's HTTP API over any of its addresses: which one to ask, with which token, over which connection, and until when.
 * Whoever creates one closes it. The constructor throws a TypeError or RangeError that names the option which is wrong, or
 * an Error if a TLS file cannot be read.
 */
export class ConsulHttp {
	readonly clock: Clock;
	readonly #options: ConsulConnectionOptions;
	readonly #waitMs: number;
	readonly #endpoints: readonly Endpoint[];
	readonly #token: ConsulToken;
	/** Calls in flight: not more than the watches, and calls that somebody waits for. */
	readonly #calls = new Set<ConsulCall>();
	#closed = false;
	#preferred = 0;
	#blocking = 0;
	#lastSuccessAtMs: number | undefined;
	#error: SpockError | undefined;

	constructor(options: ConsulConnectionOptions = {}) {
		const { addresses = [DEFAULT_CONSUL_ADDRESS], waitMs = DEFAULT_CONSUL_WAIT_MS, clock = systemClock } = options;
		if (addresses.length === 0) throw new TypeError('addresses must name at least one Consul address');
		oneOfOption('consistency', options.consistency ?? 'stale', ['stale', 'default', 'consistent']);
		this.#options = options;
		this.clock = clock;
		this.#waitMs = integerOption('waitMs', waitMs, 1000, 600_000);
		this.#token = new ConsulToken(options);
		this.#endpoints = addresses.map((text, number) => {
			const address = parseConsulAddress(stringOption(`addresses[${number}]`, text));
			return { address, client: createClient(address, options.tls) };
		});
	}

	/** One call that does not block: the preferred address first, and each of the others once where one fails. */
	call<T>(question: ConsulQuestion<T>, options: ConsulCallOptions = {}): Promise<T> {
		const { signal, timeoutMs = CALL_MS, isFirstOnly = false } = options;
		const deadlineAtMs = this.clock.now() + durationMsOption('timeoutMs', timeoutMs);
		// The addresses share the time that is left, so that one which hangs does not use up the turn of the next.
		const ask = (_endpoint: Endpoint, addressesLeft: number): Ask => ({
			parameters: question.parameters ?? {},
			timeoutMs: Math.max(1, Math.floor((deadlineAtMs - this.clock.now()) / addressesLeft)),
			isBlocking: false,
		});
		return isFirstOnly
			? this.#ask(this.#endpoints[0] as Endpoint, ask(this.#endpoints[0] as Endpoint, 1), question, signal)
			: this.#askAny(question, ask, signal);
	}

	/**
	 * One blocking query after the other, for one watch loop: the first does not block, nor does one to an address that did
	 * not give the index. `waitMs` defaults to the option of that name.
	 */
	blocking<T>(
		question: ConsulQuestion<FetchAnswer<T>>,
		waitMs: number = this.#waitMs,
	): (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>> {
		const { parameters = {} } = question;
		let origin: Endpoint | undefined;
		return (index, signal) => {
			const ask = (endpoint: Endpoint): Ask => {
				const isOrigin = endpoint === origin;
				// Whoever is asked last is who answers, because a failure asks the next one.
				origin = endpoint;
				if (index === 0 || !isOrigin || this.#blocking >= BLOCKING_MAX) {
					return { parameters, timeoutMs: CALL_MS, isBlocking: false };
				}
				return {
					parameters: { ...parameters, index: String(index), wait: `${waitMs}ms` },
					timeoutMs: Math.ceil(waitMs * WAIT_SLACK) + WAIT_SLACK_MS,
					isBlocking: true,
				};
			};
			return this.#askAny(question, ask, signal);
		};
	}

	/** The parameters that say where to look: datacenter, namespace, partition. */
	placeParameters(datacenter: string | undefined = this.#options.datacenter): Record<string, string> {
		const { namespace, partition } = this.#options;
		return {
			...(datacenter && { dc: datacenter }),
			...(namespace && { ns: namespace }),
			...(partition && { partition }),
		};
	}

	/** The same, with the consistency of reads. */
	readParameters(datacenter?: string): Record<string, string> {
		const { consistency = 'stale' } = this.#options;
		return { ...(consistency !== 'default' && { [consistency]: '' }), ...this.placeParameters(datacenter) };
	}

	/** How Consul was when it was asked last. */
	status(): BackendStatus {
		const sinceMs = this.#lastSuccessAtMs;
		return {
			name: 'consul',
			state: this.#error !== undefined ? 'down' : sinceMs === undefined ? 'connecting' : 'up',
			addresses: this.#endpoints.map(({ address }) => address.url),
			error: this.#error?.message ?? null,
			lastSuccessAgeMs: sinceMs === undefined ? null : Math.max(0, this.clock.now() - sinceMs),
		};
	}

	/** Ends every call with CLOSED and every connection; idempotent. */
	async close(): Promise<void> {
		this.#closed = true;
		for (const call of [...this.#calls]) call.close();
		for (const { client } of this.#endpoints) client.destroy();
	}

	/** Throws CLOSED once it is closed. */
	refuseIfClosed(): void {
		if (this.#closed) throw new SpockError('CLOSED', 'the connection to Consul was closed');
	}

	async #askAny<T>(
		question: ConsulQuestion<T>,
		ask: (endpoint: Endpoint, addressesLeft: number) => Ask,
		signal: AbortSignal | undefined,
	): Promise<T> {
		const count = this.#endpoints.length;
		const first = this.#preferred;
		for (let attempt = 0; ; attempt++) {
			const number = (first + attempt) % count;
			const endpoint = this.#endpoints[number] as Endpoint;
			try {
				return await this.#ask(endpoint, ask(endpoint, count - attempt), question, signal);
			} catch (reason) {
				const error = reason as SpockError;
				// Another server may have a leader, room (429), or a working network; none knows a token better.
				if (error.code !== 'UNAVAILABLE') throw error;
				// Unless another call has moved on already: two failures at once must not lead back to the bad address.
				if (this.#preferred === number) this.#preferred = (number + 1) % count;
				if (attempt + 1 >= count) throw error;
			}
		}
	}

	/** One query to one address; rejects with a SpockError. */
	async #ask<T>(endpoint: Endpoint, ask: Ask, question: ConsulQuestion<T>, signal?: AbortSignal): Promise<T> {
		const { parameters, timeoutMs, isBlocking } = ask;
		const startedAtMs = this.clock.now();
		if (isBlocking) this.#blocking++;
		const call = new ConsulCall(parameters, question.body, question.answerBytesMax);
		let token: string | undefined;
		try {
			token = await this.#token.read();
			this.refuseIfClosed();
			this.#calls.add(call);
			const common = { ctx: call, ...(token && { token }) };
			const [response, body] = (await sendWithDeadline({ clock: this.clock, call, timeoutMs, signal }, () =>
				question.send(endpoint.client, common),
			)) as ConsulAnswer;
			const value = question.read(response, body);
			this.#succeeded(startedAtMs, response);
			return value;
		} catch (reason) {
			const error = consulError(reason, endpoint.address.url, token);
			// Who asked gave up, or asked for too much: nothing of that is Consul's fault.
			if (!isOurs(error)) this.#failed(startedAtMs, error);
			throw error;
		} finally {
			this.#calls.delete(call);
			if (isBlocking) this.#blocking--;
		}
	}

	#succeeded(startedAtMs: number, { headers }: IncomingMessage): void {
		const nowMs = this.clock.now();
		this.#lastSuccessAtMs = nowMs;
		this.#error = undefined;
		const lastContact = headers['x-consul-lastcontact'];
		const knownLeader = headers['x-consul-knownleader'];
		this.#options.onEvent?.({
			type: 'backend-query',
			outcome: 'ok',
			durationMs: nowMs - startedAtMs,
			...(typeof lastContact === 'string' && { lastContactMs: Number(lastContact) }),
			...(typeof knownLeader === 'string' && { knownLeader: knownLeader === 'true' }),
		});
	}

	#failed(startedAtMs: number, error: SpockError): void {
		this.#error = error;
		this.#options.onEvent?.({
			type: 'backend-query',
			outcome: 'failed',
			durationMs: this.clock.now() - startedAtMs,
			error,
		});
	}
}

function isOurs({ code }: SpockError): boolean {
	return code === 'ABORTED' || code === 'CLOSED' || code === 'FRAME_TOO_LARGE';
}
