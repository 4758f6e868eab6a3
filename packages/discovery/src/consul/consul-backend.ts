import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';

import {
	type BackendStatus,
	type CallOptions,
	isWireErrorCode,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
	SpockError,
} from '@spock/protocol';
import { type Clock, integerOption, oneOfOption, systemClock } from '@spock/protocol/internal';
import Consul from 'consul';

import type { Backend, BackendObserver, BackendWatch } from '../backend.ts';
import { parseIndex } from '../blocking-index.ts';
import { isSameList } from '../snapshot-diff.ts';
import { type FetchAnswer, WatchLoop } from '../watch-loop.ts';
import { type ConsulAddress, parseConsulAddress } from './consul-address.ts';
import type { ConsulBackendOptions } from './consul-options.ts';
import { type HealthEntry, readHealthEntries } from './health-entry.ts';

const DEFAULT_ADDRESS = 'http://127.0.0.1:8500';
const DEFAULT_WAIT_MS = 55_000;
/** A deadline for calls that do not block. */
const CALL_MS = 10_000;
/** The server adds up to a sixteenth of the wait as jitter; two seconds more are for the network and a busy machine. */
const WAIT_SLACK = 1.0625;
const WAIT_SLACK_MS = 2000;
/** A Consul agent allows 200 connections from one address: we leave room for others on this node. */
const SOCKETS_MAX = 150;
/** Queries that may block at once. Watches beyond it poll at the pace of their bucket, so that none waits for a socket. */
const BLOCKING_MAX = 100;

/**
 * The context of one call to the npm package: it cancels by this emitter (and ignores signals), and drops most query
 * parameters, so that ours are set by its extension hook.
 */
class ConsulCall extends EventEmitter {
	readonly includeResponse = true;
	readonly parameters: Readonly<Record<string, string | readonly string[]>>;

	constructor(parameters: Readonly<Record<string, string | readonly string[]>>) {
		super();
		this.parameters = parameters;
	}
}

/** The parts of the package that its types leave out. */
interface ConsulInternals {
	_ext(event: 'onCreate', hook: (request: ConsulRequest, next: () => void) => void): void;
}

interface ConsulRequest {
	readonly ctx?: unknown;
	readonly opts: { query: Record<string, unknown> };
	res?: IncomingMessage;
}

/** What both functions of the package that we call give, with `includeResponse`. */
type ConsulAnswer = readonly [response: IncomingMessage, body: unknown];

interface Endpoint {
	readonly address: ConsulAddress;
	readonly client: Consul;
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
	readonly #closing = new AbortController();
	#preferred = 0;
	#blocking = 0;
	#lastSuccessAtMs: number | undefined;
	#error: SpockError | undefined;

	constructor(options: ConsulBackendOptions) {
		const { addresses = [DEFAULT_ADDRESS], waitMs = DEFAULT_WAIT_MS, clock = systemClock } = options;
		if (addresses.length === 0) throw new TypeError('addresses must name at least one Consul address');
		oneOfOption('consistency', options.consistency ?? 'stale', ['stale', 'default', 'consistent']);
		this.#options = options;
		this.#clock = clock;
		this.#waitMs = integerOption('waitMs', waitMs, 1000, 600_000);
		this.#endpoints = addresses.map((text) => {
			const address = parseConsulAddress(text);
			return { address, client: createClient(address, options) };
		});
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		const loop = new WatchLoop<readonly ServiceInstance[]>({
			fetch: (index, signal) => this.#fetchInstances(query, index, signal),
			isSame: isSameList,
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
		const { signal, timeoutMs = CALL_MS } = options;
		const [response, body] = await this.#call(this.#parameters(query.datacenter), timeoutMs, signal, (client, common) =>
			client.catalog.service.list(common),
		);
		if (typeof body !== 'object' || body === null || Array.isArray(body)) throw notJson(response);
		const services = Object.entries(body as Record<string, readonly string[]>)
			.map(([name, tags]) => ({ name, tags: [...(tags ?? [])].sort() }))
			.sort((left, right) => (left.name < right.name ? -1 : 1));
		if (services.length === 0) refuseFiltered(response);
		return services;
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
		this.#closing.abort();
		for (const { client } of this.#endpoints) client.destroy();
	}

	async #fetchInstances(
		query: ServiceQuery,
		index: number,
		signal: AbortSignal,
	): Promise<FetchAnswer<readonly ServiceInstance[]>> {
		// Asking for all instances and judging health here: `passing=true` would filter after the agent has blocked, and
		// would drop warnings.
		const isBlocking = index > 0 && this.#blocking < BLOCKING_MAX;
		const parameters = {
			...this.#parameters(query.datacenter),
			...(query.tags && { tag: query.tags }),
			...(isBlocking && { index: String(index), wait: `${this.#waitMs}ms` }),
		};
		if (isBlocking) this.#blocking++;
		try {
			const timeoutMs = isBlocking ? Math.ceil(this.#waitMs * WAIT_SLACK) + WAIT_SLACK_MS : CALL_MS;
			const [response, body] = await this.#call(parameters, timeoutMs, signal, (client, common) =>
				client.health.service({ ...common, service: query.service }),
			);
			if (!Array.isArray(body)) throw notJson(response);
			const answered = parseIndex(response.headers['x-consul-index']);
			if (answered === undefined) throw unavailable('the answer has no X-Consul-Index', response);
			if (body.length === 0) refuseFiltered(response);
			return { value: readHealthEntries(body as HealthEntry[]), index: answered };
		} finally {
			if (isBlocking) this.#blocking--;
		}
	}

	/** One call: the preferred address first, and each of the others once where one fails. */
	async #call(
		parameters: Readonly<Record<string, string | readonly string[]>>,
		timeoutMs: number,
		signal: AbortSignal | undefined,
		send: (client: Consul, common: { readonly token?: string }) => Promise<unknown>,
	): Promise<ConsulAnswer> {
		const startedAtMs = this.#clock.now();
		const outcome = (kind: 'ok' | 'failed'): void =>
			this.#options.onEvent?.({ type: 'backend-query', outcome: kind, durationMs: this.#clock.now() - startedAtMs });
		for (let attempt = 1; ; attempt++) {
			const endpoint = this.#endpoints[this.#preferred] as Endpoint;
			try {
				const token = await this.#token();
				const call = new ConsulCall(parameters);
				const common = { ctx: call, ...(token && { token }) };
				const answer = await withDeadline(this.#clock, call, timeoutMs, [signal, this.#closing.signal], () =>
					send(endpoint.client, common),
				);
				this.#lastSuccessAtMs = this.#clock.now();
				this.#error = undefined;
				outcome('ok');
				return answer as ConsulAnswer;
			} catch (reason) {
				const error = toSpockError(reason, endpoint.address);
				if (error.code === 'ABORTED') throw error;
				this.#error = error;
				// Another server may have a leader, room (429), or a working network; none knows a token better.
				const mayHelp = error.code === 'UNAVAILABLE';
				if (mayHelp) this.#preferred = (this.#preferred + 1) % this.#endpoints.length;
				if (!mayHelp || attempt >= this.#endpoints.length) {
					outcome('failed');
					throw error;
				}
				// An index belongs to the server that gave it: the others are asked without blocking.
				const { index: _index, wait: _wait, ...unblocked } = parameters;
				parameters = unblocked;
				timeoutMs = Math.min(timeoutMs, CALL_MS);
			}
		}
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
			return (await readFile(tokenFile, 'utf8')).trim();
		} catch (cause) {
			throw new SpockError('UNAVAILABLE', `the Consul token file cannot be read: ${tokenFile}`, { cause });
		}
	}
}

function createClient(address: ConsulAddress, { tls = {} }: ConsulBackendOptions): Consul {
	const agentOptions = { keepAlive: true, maxSockets: SOCKETS_MAX };
	const secure = {
		...(tls.caFile && { ca: readFileSync(tls.caFile) }),
		...(tls.certFile && { cert: readFileSync(tls.certFile) }),
		...(tls.keyFile && { key: readFileSync(tls.keyFile) }),
		...(tls.serverName && { servername: tls.serverName }),
		...(tls.verify !== undefined && { rejectUnauthorized: tls.verify }),
	};
	const client = new Consul({
		host: address.host.includes(':') ? `[${address.host}]` : address.host,
		port: address.port === 0 ? 80 : address.port,
		secure: address.secure,
		agent: address.secure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions),
		...(address.socketPath && { socketPath: address.socketPath }),
		...(address.secure && secure),
	} as ConstructorParameters<typeof Consul>[0]);
	(client as unknown as ConsulInternals)._ext('onCreate', (request, next) => {
		if (request.ctx instanceof ConsulCall) {
			Object.assign(request.opts.query, request.ctx.parameters);
			reportBrokenBody(request, request.ctx);
		}
		next();
	});
	return client;
}

/** The package never settles when a connection is reset in the middle of a body: the response is watched for it. */
function reportBrokenBody(request: ConsulRequest, call: ConsulCall): void {
	let response: IncomingMessage | undefined;
	Object.defineProperty(request, 'res', {
		configurable: true,
		enumerable: true,
		get: () => response,
		set: (value: IncomingMessage | undefined) => {
			response = value;
			value?.once('error', (error) => call.emit('broken', error));
			value?.once('close', () => {
				if (!value.complete) call.emit('broken', new Error('the connection ended in the middle of the answer'));
			});
		},
	});
}

/** Settles with the call, or rejects at the deadline, at an abort, or at a broken body, whichever comes first. */
function withDeadline(
	clock: Clock,
	call: ConsulCall,
	timeoutMs: number,
	signals: readonly (AbortSignal | undefined)[],
	send: () => Promise<unknown>,
): Promise<unknown> {
	return new Promise((resolve, reject) => {
		const aborts = signals.filter((signal) => signal !== undefined);
		const end = (settle: () => void, isCancelled: boolean): void => {
			clock.clearTimeout(timer);
			for (const signal of aborts) signal.removeEventListener('abort', onAbort);
			// Removed first: cancelling makes the package reject and the response break, which nobody needs to hear.
			call.removeAllListeners('broken');
			call.on('broken', () => undefined);
			settle();
			if (isCancelled) call.emit('cancel');
		};
		const onAbort = (): void => {
			const reason: unknown = aborts.find((signal) => signal.aborted)?.reason;
			end(() => reject(new SpockError('ABORTED', 'the call to Consul was aborted', { cause: reason })), true);
		};
		const timer = clock.setTimeout(() => {
			end(() => reject(new Error(`no answer within ${timeoutMs} ms`)), true);
		}, timeoutMs);
		if (aborts.some((signal) => signal.aborted)) return onAbort();
		for (const signal of aborts) signal.addEventListener('abort', onAbort, { once: true });
		call.once('broken', (error: Error) => end(() => reject(error), true));
		send().then(
			(answer) => end(() => resolve(answer), false),
			(error: unknown) => end(() => reject(error), false),
		);
		return undefined;
	});
}

/** `X-Consul-Results-Filtered-By-ACLs` with an empty answer: the service may exist, this token may not see it. */
function refuseFiltered(response: IncomingMessage): void {
	if (response.headers['x-consul-results-filtered-by-acls'] === 'true') {
		throw new SpockError('ACL_DENIED', 'Consul filtered everything from the answer: the token may not read it');
	}
}

function notJson(response: IncomingMessage): SpockError {
	const type = response.headers['content-type'] ?? 'no content type';
	return unavailable(`the answer is not what Consul's API gives (${type}): is this address Consul?`, response);
}

function unavailable(message: string, response: IncomingMessage): SpockError {
	return new SpockError('UNAVAILABLE', message, { details: { status: response.statusCode } });
}

/**
 * What went wrong, without anything of the request, which holds the token. 403 is a denied token; everything else
 * (refused, reset, 429, 500, 503, 400, a wrong answer) is a registry that cannot answer now.
 */
function toSpockError(reason: unknown, { url }: ConsulAddress): SpockError {
	if (SpockError.is(reason) && (reason.code === 'ABORTED' || reason.code === 'ACL_DENIED')) return reason;
	const error = reason instanceof Error ? reason : new Error(String(reason));
	const status = (error as { readonly statusCode?: number }).statusCode;
	const details = { address: url, ...(status !== undefined && { status }) };
	if (status === 403) {
		return new SpockError('ACL_DENIED', `Consul at ${url} denies the request: check the ACL token`, { details });
	}
	const systemCode = (error as NodeJS.ErrnoException).code;
	const said =
		status !== undefined ? `answered ${status} (${error.message})` : `failed: ${error.message || systemCode}`;
	return new SpockError('UNAVAILABLE', `Consul at ${url} ${said}`, {
		details: { ...details, ...(typeof systemCode === 'string' && !isWireErrorCode(systemCode) && { systemCode }) },
	});
}
