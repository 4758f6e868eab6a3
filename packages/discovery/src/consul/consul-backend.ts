import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

import {
	type BackendStatus,
	type CallOptions,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
	SpockError,
} from '@spock/protocol';
import {
	type Clock,
	durationMsOption,
	integerOption,
	oneOfOption,
	stringOption,
	systemClock,
} from '@spock/protocol/internal';
import Consul from 'consul';

import type { Backend, BackendObserver, BackendWatch } from '../backend.ts';
import { isSameAnswer } from '../snapshot-diff.ts';
import { type FetchAnswer, WatchLoop } from '../watch-loop.ts';
import { type ConsulAddress, parseConsulAddress } from './consul-address.ts';
import {
	type ConsulAnswer,
	ConsulCall,
	type ConsulHookRequest,
	type ConsulParameters,
	prepareRequest,
	sendWithDeadline,
} from './consul-call.ts';
import { consulError } from './consul-error.ts';
import { type ConsulBackendOptions, DEFAULT_CONSUL_ADDRESS, DEFAULT_CONSUL_WAIT_MS } from './consul-options.ts';
import { readAnsweredInstances, readAnsweredServices } from './read-answer.ts';

/** A deadline for calls that do not block. */
const CALL_MS = 10_000;
/** The server adds up to a sixteenth of the wait as jitter; two seconds more are for the network and a busy machine. */
const WAIT_SLACK = 1.0625;
const WAIT_SLACK_MS = 2000;
/** A Consul agent allows 200 connections from one address: we leave room for others on this node. */
const SOCKETS_MAX = 150;
/** Queries that may block at once. Watches beyond it poll at the pace of their bucket, so that none waits for a socket. */
const BLOCKING_MAX = 100;

/** The part of the npm package that its types leave out. */
interface ConsulInternals {
	_ext(event: 'onCreate', hook: (request: ConsulHookRequest, next: () => void) => void): void;
}

interface Endpoint {
	readonly address: ConsulAddress;
	readonly client: Consul;
}

/** The address that gave a watch its index. */
interface IndexOrigin {
	endpoint: Endpoint | undefined;
}

/** One question to Consul, whichever address answers it. */
interface Question<T> {
	readonly signal: AbortSignal | undefined;
	/** What to ask one address, and how long to wait for it: an index means nothing to an address that did not give it. */
	readonly ask: (endpoint: Endpoint, addressesLeft: number) => Ask;
	readonly send: (client: Consul, common: { readonly ctx: ConsulCall; readonly token?: string }) => Promise<unknown>;
	/** Throws what makes the answer no answer: another address is asked then. */
	readonly read: (response: IncomingMessage, body: unknown) => T;
}

interface Ask {
	readonly parameters: ConsulParameters;
	readonly timeoutMs: number;
	readonly isBlocking: boolean;
}

/**
 * Services from Consul's HTTP API: one blocking query for each watch, over any of the given addresses.
 * Throws a TypeError or RangeError naming the option that is wrong, or an Error if a TLS file cannot be read.
 */
export function consulBackend(options: ConsulBackendOptions = {}): Backend {
	return new ConsulBackend(options);
}

class ConsulBackend implements Backend {
	readonly name = 'consul';
	readonly #options: ConsulBackendOptions;
	readonly #clock: Clock;
	readonly #waitMs: number;
	readonly #endpoints: readonly Endpoint[];
	readonly #loops = new Set<WatchLoop<readonly ServiceInstance[]>>();
	/** Calls in flight: not more than loops, and lists that callers wait for. */
	readonly #calls = new Set<ConsulCall>();
	#closed = false;
	#preferred = 0;
	#blocking = 0;
	#lastSuccessAtMs: number | undefined;
	#error: SpockError | undefined;

	constructor(options: ConsulBackendOptions) {
		const { addresses = [DEFAULT_CONSUL_ADDRESS], waitMs = DEFAULT_CONSUL_WAIT_MS, clock = systemClock } = options;
		if (addresses.length === 0) throw new TypeError('addresses must name at least one Consul address');
		oneOfOption('consistency', options.consistency ?? 'stale', ['stale', 'default', 'consistent']);
		this.#options = options;
		this.#clock = clock;
		this.#waitMs = integerOption('waitMs', waitMs, 1000, 600_000);
		this.#endpoints = addresses.map((text, number) => {
			const address = parseConsulAddress(stringOption(`addresses[${number}]`, text));
			return { address, client: createClient(address, options) };
		});
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#refuseIfClosed();
		const origin: IndexOrigin = { endpoint: undefined };
		const loop = new WatchLoop<readonly ServiceInstance[]>({
			fetch: (index, signal) => this.#fetchInstances(query, index, signal, origin),
			isSame: isSameAnswer,
			answered: (instances) => observer.answered(instances),
			failed: (error) => observer.failed(error),
			clock: this.#clock,
			...(this.#options.random && { random: this.#options.random }),
		});
		this.#loops.add(loop);
		loop.start();
		return {
			stop: () => {
				loop.stop();
				this.#loops.delete(loop);
			},
		};
	}

	async list(query: { readonly datacenter?: string }, options: CallOptions = {}): Promise<readonly ServiceListEntry[]> {
		this.#refuseIfClosed();
		const deadlineAtMs = this.#clock.now() + durationMsOption('timeoutMs', options.timeoutMs ?? CALL_MS);
		return this.#call({
			signal: options.signal,
			// The addresses share the time that is left, so that one which hangs does not use up the turn of the next.
			ask: (_endpoint, addressesLeft) => ({
				parameters: this.#parameters(query.datacenter),
				timeoutMs: Math.max(1, Math.floor((deadlineAtMs - this.#clock.now()) / addressesLeft)),
				isBlocking: false,
			}),
			send: (client, common) => client.catalog.service.list(common),
			read: readAnsweredServices,
		});
	}

	status(): BackendStatus {
		const sinceMs = this.#lastSuccessAtMs;
		return {
			name: this.name,
			state: this.#error !== undefined ? 'down' : sinceMs === undefined ? 'connecting' : 'up',
			addresses: this.#endpoints.map(({ address }) => address.url),
			error: this.#error?.message ?? null,
			lastSuccessAgeMs: sinceMs === undefined ? null : Math.max(0, this.#clock.now() - sinceMs),
		};
	}

	async close(): Promise<void> {
		for (const loop of this.#loops) loop.stop();
		this.#loops.clear();
		this.#closed = true;
		for (const call of [...this.#calls]) call.close();
		for (const { client } of this.#endpoints) client.destroy();
	}

	#refuseIfClosed(): void {
		if (this.#closed) throw new SpockError('CLOSED', 'the Consul backend was closed');
	}

	#fetchInstances(
		query: ServiceQuery,
		index: number,
		signal: AbortSignal,
		origin: IndexOrigin,
	): Promise<FetchAnswer<readonly ServiceInstance[]>> {
		// Asking for all instances and judging health here: `passing=true` would filter after the agent has blocked, and
		// would drop warnings.
		const base = { ...this.#parameters(query.datacenter), ...(query.tags && { tag: query.tags }) };
		const ask = (endpoint: Endpoint): Ask => {
			const isOrigin = endpoint === origin.endpoint;
			// Whoever is asked last is who answers, because a failure asks the next one.
			origin.endpoint = endpoint;
			if (index === 0 || !isOrigin || this.#blocking >= BLOCKING_MAX) {
				return { parameters: base, timeoutMs: CALL_MS, isBlocking: false };
			}
			return {
				parameters: { ...base, index: String(index), wait: `${this.#waitMs}ms` },
				timeoutMs: Math.ceil(this.#waitMs * WAIT_SLACK) + WAIT_SLACK_MS,
				isBlocking: true,
			};
		};
		return this.#call({
			signal,
			ask,
			send: (client, common) => client.health.service({ ...common, service: query.service }),
			read: readAnsweredInstances,
		});
	}

	/** The preferred address first, and each of the others once where one fails. */
	async #call<T>(question: Question<T>): Promise<T> {
		const count = this.#endpoints.length;
		const first = this.#preferred;
		for (let attempt = 0; ; attempt++) {
			const number = (first + attempt) % count;
			try {
				return await this.#ask(this.#endpoints[number] as Endpoint, count - attempt, question);
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
	async #ask<T>(endpoint: Endpoint, addressesLeft: number, question: Question<T>): Promise<T> {
		const { signal, ask, send, read } = question;
		const startedAtMs = this.#clock.now();
		const { parameters, timeoutMs, isBlocking } = ask(endpoint, addressesLeft);
		if (isBlocking) this.#blocking++;
		const call = new ConsulCall(parameters);
		let token: string | undefined;
		try {
			token = await this.#token();
			this.#refuseIfClosed();
			this.#calls.add(call);
			const common = { ctx: call, ...(token && { token }) };
			const [response, body] = (await sendWithDeadline({ clock: this.#clock, call, timeoutMs, signal }, () =>
				send(endpoint.client, common),
			)) as ConsulAnswer;
			const value = read(response, body);
			this.#succeeded(startedAtMs, response);
			return value;
		} catch (reason) {
			const error = consulError(reason, endpoint.address.url, token);
			if (error.code !== 'ABORTED' && error.code !== 'CLOSED') this.#failed(startedAtMs, error);
			throw error;
		} finally {
			this.#calls.delete(call);
			if (isBlocking) this.#blocking--;
		}
	}

	#succeeded(startedAtMs: number, { headers }: IncomingMessage): void {
		const nowMs = this.#clock.now();
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
			durationMs: this.#clock.now() - startedAtMs,
			error,
		});
	}

	#parameters(datacenter: string | undefined): Record<string, string> {
		const { consistency = 'stale', namespace, partition } = this.#options;
		const place = datacenter ?? this.#options.datacenter;
		return {
			...(consistency !== 'default' && { [consistency]: '' }),
			...(place && { dc: place }),
			...(namespace && { ns: namespace }),
			...(partition && { partition }),
		};
	}

	async #token(): Promise<string | undefined> {
		const { token, tokenFile } = this.#options;
		if (tokenFile === undefined) return token;
		try {
			return (await readFile(tokenFile, 'utf8')).trim() || token;
		} catch (cause) {
			throw new SpockError('UNAVAILABLE', `the Consul token file cannot be read: ${tokenFile}`, { cause });
		}
	}
}

function createClient(address: ConsulAddress, { tls = {} }: ConsulBackendOptions): Consul {
	const agentOptions = { keepAlive: true, maxSockets: SOCKETS_MAX };
	// Given to the agent and not to the package, which passes on only the options that it knows.
	const secure = {
		...(tls.caFile && { ca: readFileSync(tls.caFile) }),
		...(tls.certFile && { cert: readFileSync(tls.certFile) }),
		...(tls.keyFile && { key: readFileSync(tls.keyFile) }),
		...(tls.serverName && { servername: tls.serverName }),
		...(tls.verify !== undefined && { rejectUnauthorized: tls.verify }),
	};
	const client = new Consul({
		host: address.host.includes(':') ? `[${address.host}]` : address.host,
		port: address.socketPath === undefined ? address.port : 80,
		secure: address.secure,
		agent: address.secure ? new HttpsAgent({ ...agentOptions, ...secure }) : new HttpAgent(agentOptions),
		...(address.socketPath && { socketPath: address.socketPath }),
	} as ConstructorParameters<typeof Consul>[0]);
	(client as unknown as ConsulInternals)._ext('onCreate', (request, next) => {
		prepareRequest(request);
		next();
	});
	return client;
}
