import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

import { type Clock, systemClock, type TimerHandle } from '@spock/protocol/internal';

import { fakeBody } from './fake-consul-body.ts';
import type { FakeConsulCheck, FakeConsulInstance } from './fake-consul-entry.ts';
import { type FakeConsulFault, misbehave } from './fake-consul-fault.ts';
import { FakeConsulKeys } from './fake-consul-keys.ts';
import { freePort } from './free-ports.ts';

/** One request that the fake was sent. */
export interface FakeConsulRequest {
	readonly path: string;
	readonly query: URLSearchParams;
	readonly token: string | undefined;
}

/** Options of {@link startFakeConsul}. */
export interface FakeConsulOptions {
	/** A unix domain socket to listen at. Default: a free port of 127.0.0.1. */
	readonly path?: string;
	/** Honours datacenter, peer and filter as a real one does, which has dc1 and no peer. Default false: it answers them all alike. */
	readonly isStrict?: boolean;
	/** The clock that ends blocking queries. Default: the clock of the process. */
	readonly clock?: Clock;
	/** Answers queries for a service's health with the service's own index, as Consul does. Default false: with the server's. */
	readonly hasOwnIndexes?: boolean;
	/**
	 * Answers blocking queries for a service's health from a stream, as a client agent does: such a query sleeps through a restore.
	 * Default false.
	 */
	readonly streams?: boolean;
}

const HEALTH = '/v1/health/service/';
/** What is held to notice a restore. */
const RESTORES = '/v1/catalog/service/consul';
const HEARTBEAT = '/v1/status/leader';

const TOO_MANY =
	'HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: 8\r\nConnection: close\r\n\r\ntoo many';

interface Held {
	readonly index: number;
	readonly path: string;
	/** What the index of its question is now. */
	readonly indexNow: () => number;
	/** With an index that is not the one of now, if it is given. */
	readonly answer: (index?: number) => void;
}

/** A service as it was: the body and index of an answer. */
export interface FakeServiceState {
	readonly path: string;
	readonly body: unknown;
	readonly index: number;
}

/** Starts a {@link FakeConsul}. */
export async function startFakeConsul(options: FakeConsulOptions = {}): Promise<FakeConsul> {
	const fake = new FakeConsul(options);
	await fake.listen();
	return fake;
}

/**
 * Consul's health, catalog and key-value endpoints with blocking queries, over real HTTP, from a list that the test sets; and every
 * fault that a real server cannot be made to have. Faults are taken one for each request, in the order they were given.
 */
export class FakeConsul implements AsyncDisposable {
	/** Every request so far. */
	readonly requests: FakeConsulRequest[] = [];
	/** Requests for the leader, which are no part of `requests` and meet no fault: they only ask whether it is there. */
	heartbeats = 0;
	/** How these are answered. */
	heartbeatStatus = 200;
	/** Whom they are told of; empty for a server that knows no leader. */
	leader = '127.0.0.1:8300';
	/** What its answers to reads report of a leader. */
	knownLeader = true;
	/** What every request meets, but for heartbeats, while it is set; what is held is held on. */
	outage: FakeConsulFault | undefined;
	/** What is asked about this datacenter is never answered: its servers stand still. */
	silentDatacenter: string | undefined;
	/** Beyond so many connections from one address another one is refused with 429, as Consul does. */
	connectionsMax: number = Number.POSITIVE_INFINITY;
	/** All connections come from one address, as they do behind a NAT. */
	isBehindNat = false;
	/** Everything is answered so much later, in milliseconds of the fake's clock. */
	delayMs = 0;
	readonly #options: FakeConsulOptions;
	readonly #clock: Clock;
	readonly #services = new Map<string, readonly FakeConsulInstance[]>();
	readonly #serviceIndexes = new Map<string, number>();
	readonly #keys = new FakeConsulKeys();
	readonly #nodeChecks = new Map<string, FakeConsulCheck['status']>();
	readonly #faults: FakeConsulFault[] = [];
	readonly #pathFaults = new Map<string, FakeConsulFault>();
	readonly #held = new Set<Held>();
	readonly #refused = new Set<string>();
	/** A service that is answered with what it was. */
	#lagging: FakeServiceState | undefined;
	/** And all else with the index of that, unless the leader's answer is asked for. */
	#isReplaying = false;
	/** Requests that came while the fake was told to say nothing; undefined while it answers. */
	#unanswered: (() => void)[] | undefined;
	readonly #server: Server;
	/** By the address that they come from. */
	readonly #connections = new Map<string, number>();
	#index = 10;
	#port = 0;

	constructor(options: FakeConsulOptions) {
		this.#options = options;
		this.#clock = options.clock ?? systemClock;
		this.#server = createServer((request, response) => this.#handle(request, response));
		this.#server.on('connection', (socket) => {
			const { remoteAddress = '' } = socket;
			const count = (by: number): number => (this.#connections.get(remoteAddress) ?? 0) + by;
			this.#connections.set(remoteAddress, count(1));
			socket.once('close', () => this.#connections.set(remoteAddress, count(-1)));
			if ((this.isBehindNat ? this.connections : count(0)) > this.connectionsMax) socket.end(TOO_MANY);
		});
	}

	/** What to give to a client as Consul's address. */
	get url(): string {
		return this.#options.path === undefined ? `http://127.0.0.1:${this.#port}` : `unix://${this.#options.path}`;
	}

	get index(): number {
		return this.#index;
	}

	/** Queries that block now, but for those that wait for a restore. */
	get blocked(): number {
		return this.#held.size - this.waitingForRestore;
	}

	/** Queries that wait for a restore, which are no part of `requests` and meet none of the faults that were given for one request each. */
	get waitingForRestore(): number {
		return [...this.#held].filter(({ path }) => path === RESTORES).length;
	}

	/** Connections that are open now, or have been asked for. */
	get connections(): number {
		return [...this.#connections.values()].reduce((sum, count) => sum + count, 0);
	}

	/** Most connections that are open now from one address. */
	get connectionsOfOne(): number {
		return Math.max(0, ...this.#connections.values());
	}

	/** Faults that no request has met yet. */
	get faultsLeft(): number {
		return this.#faults.length;
	}

	/** Listens; after `stop` at the same place again. */
	async listen(): Promise<void> {
		const { path } = this.#options;
		if (path === undefined && this.#port === 0) this.#port = await freePort();
		this.#server.listen(path === undefined ? { host: '127.0.0.1', port: this.#port } : { path });
		await once(this.#server, 'listening');
	}

	/** Cuts every connection and refuses new ones, as a server does that was killed. */
	async stop(): Promise<void> {
		this.#held.clear();
		if (!this.#server.listening) return;
		const closed = once(this.#server, 'close');
		this.#server.close();
		this.#server.closeAllConnections();
		await closed;
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	/** Replaces a service's instances; the index grows and blocked queries return. */
	set(service: string, instances: readonly FakeConsulInstance[]): void {
		this.#services.set(service, instances);
		this.#serviceIndexes.set(service, this.#index + 1);
		this.touch();
	}

	/** Registers a service's instances under another name, as Consul does it: the index of the old name stays. */
	rename(from: string, to: string): void {
		const instances = this.#services.get(from) ?? [];
		this.#services.set(from, []);
		this.set(to, [...(this.#services.get(to) ?? []), ...instances]);
	}

	/** Sets a key; the index grows and queries that are blocked on it return. */
	setKey(key: string, value: string | Uint8Array): void {
		this.#keys.set(key, value, this.#index + 1);
		this.touch();
	}

	/** Deletes a key. */
	deleteKey(key: string): void {
		this.#keys.delete(key, this.#index + 1);
		this.touch();
	}

	/** Sets the status of the check of a node itself; the index grows and blocked queries return. */
	setNodeCheck(node: string, status: FakeConsulCheck['status']): void {
		this.#nodeChecks.set(node, status);
		this.touch();
	}

	/** The index grows and blocked queries return, although nothing has changed. */
	touch(): void {
		this.#index++;
		this.#wake();
	}

	/** Sets the index, as a restored or restarted server does; blocked queries stay blocked, as they do there. */
	setIndex(index: number): void {
		this.#index = index;
	}

	/**
	 * Replaces a service's instances as servers do that are restored from a snapshot: its index goes back, and so does the
	 * server's. Queries that a server holds are abandoned, with the index that they were asked with; those of a stream are not.
	 */
	restore(index: number, service: string, instances: readonly FakeConsulInstance[]): void {
		this.#index = index;
		this.#services.set(service, instances);
		this.#serviceIndexes.set(service, index);
		for (const held of [...this.#held]) if (!this.#isStreamed(held.path)) held.answer(held.index);
	}

	/** Each of the next requests has one of these faults. */
	fail(...faults: readonly FakeConsulFault[]): void {
		this.#faults.push(...faults);
	}

	/** The next request for this path has this fault, whatever others are asked before it. */
	failPath(path: string, fault: FakeConsulFault): void {
		this.#pathFaults.set(path, fault);
	}

	/** Every request for one of these paths is denied from now on, and what is held there is ended. */
	refusePaths(...paths: readonly string[]): void {
		for (const path of paths) this.#refused.add(path);
		for (const held of [...this.#held]) if (this.#refused.has(held.path)) held.answer();
	}

	/** No request is denied any more. */
	allowPaths(): void {
		this.#refused.clear();
	}

	/** Answers for this service as it is now, whatever is set from now on, as a server does that lags; until another one is named. */
	lag(service: string | undefined): void {
		this.#lagging = service === undefined ? undefined : this.stateOf(service);
	}

	/** A service as it is now, for {@link replay}. */
	stateOf(service: string): FakeServiceState {
		const path = `${HEALTH}${service}`;
		const query = new URLSearchParams();
		return { path, body: this.#body(path, query), index: this.#indexOf(path, query) };
	}

	/**
	 * Knows no more than this, as a server does that was restarted and replays its log, also while it leads already; its consistent answers are
	 * as before. Undefined: all.
	 */
	replay(state: FakeServiceState | undefined): void {
		this.#lagging = state;
		this.#isReplaying = state !== undefined;
	}

	/** Lets every blocked query return now, although nothing has changed. */
	wakeAll(): void {
		for (const held of [...this.#held]) if (held.path !== RESTORES) held.answer();
	}

	/** While held it answers nothing at all; what was asked meanwhile is answered when it is let go. */
	hold(isHeld: boolean): void {
		const unanswered = this.#unanswered ?? [];
		this.#unanswered = isHeld ? unanswered : undefined;
		if (!isHeld) for (const answer of unanswered) answer();
	}

	/** It answers again, but never what was asked while it was held. */
	forget(): void {
		this.#unanswered = undefined;
	}

	#wake(): void {
		for (const held of [...this.#held]) if (held.indexNow() > held.index) held.answer();
	}

	#handle(request: IncomingMessage, response: ServerResponse): void {
		const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fake');
		if (this.silentDatacenter !== undefined && searchParams.get('dc') === this.silentDatacenter) return;
		if (pathname === HEARTBEAT) {
			this.#answerHeartbeat(response);
			return;
		}
		const token = request.headers['x-consul-token'];
		if (pathname !== RESTORES) {
			this.requests.push({
				path: pathname,
				query: searchParams,
				token: typeof token === 'string' ? token : undefined,
			});
		}
		if (this.#unanswered === undefined) this.#serve(pathname, searchParams, response);
		else this.#unanswered.push(() => this.#serve(pathname, searchParams, response));
	}

	#answerHeartbeat(response: ServerResponse): void {
		this.heartbeats++;
		const answer = (): unknown =>
			response.writeHead(this.heartbeatStatus, { 'content-type': 'application/json' }).end(JSON.stringify(this.leader));
		if (this.#unanswered === undefined) this.#late(answer);
		else this.#unanswered.push(answer);
	}

	#serve(pathname: string, searchParams: URLSearchParams, response: ServerResponse): void {
		const fault = this.outage ?? this.#nextFault(pathname) ?? this.#pathFaults.get(pathname);
		this.#pathFaults.delete(pathname);
		const index = Number(searchParams.get('index') ?? 0);
		if (this.#refused.has(pathname)) misbehave({ status: 403 }, response, this.#index);
		else if (fault !== undefined) this.#misbehave(fault, searchParams, pathname, response);
		else if (index > 0 && index >= this.#indexOf(pathname, searchParams)) {
			this.#hold(index, searchParams, pathname, response);
		} else this.#answer(pathname, searchParams, response, {});
	}

	#hold(index: number, query: URLSearchParams, path: string, response: ServerResponse): void {
		let timer: TimerHandle | undefined;
		const release = (): void => {
			this.#clock.clearTimeout(timer);
			this.#held.delete(held);
		};
		const answer = (asked?: number): void => {
			release();
			// What was asked to fail meanwhile fails the query that is held.
			const fault = this.#nextFault(path);
			const headers = {
				...(this.#isStreamed(path) && { 'x-consul-query-backend': 'streaming' }),
				...(asked !== undefined && { 'x-consul-index': String(asked) }),
			};
			if (this.#refused.has(path)) misbehave({ status: 403 }, response, this.#index);
			else if (fault === undefined) this.#answer(path, query, response, headers);
			else this.#misbehave(fault, query, path, response);
		};
		const held: Held = { index, path, indexNow: () => this.#indexOf(path, query), answer };
		timer = this.#clock.setTimeout(() => answer(), Number.parseInt(query.get('wait') ?? '300000', 10));
		this.#held.add(held);
		response.once('close', release);
	}

	#nextFault(path: string): FakeConsulFault | undefined {
		return path === RESTORES ? undefined : this.#faults.shift();
	}

	#isStreamed(path: string): boolean {
		return this.#options.streams === true && path.startsWith(HEALTH);
	}

	#laggingFor(path: string, query: URLSearchParams): FakeServiceState | undefined {
		if (this.#isReplaying) return query.has('consistent') ? undefined : this.#lagging;
		return this.#lagging?.path === path ? this.#lagging : undefined;
	}

	#indexOf(path: string, query: URLSearchParams): number {
		const lagging = this.#laggingFor(path, query);
		if (lagging !== undefined) return lagging.index;
		const own = this.#options.hasOwnIndexes && this.#serviceIndexes.get(path.slice(HEALTH.length));
		if (own && path.startsWith(HEALTH)) return own;
		return this.#keys.answer(path, query)?.index ?? this.#index;
	}

	#body(path: string, query: URLSearchParams): unknown {
		const lagging = this.#laggingFor(path, query);
		if (lagging?.path === path) return lagging.body;
		const keys = this.#keys.answer(path, query);
		if (keys !== undefined) return keys.body ?? null;
		const { isStrict = false } = this.#options;
		return fakeBody(path, query, { services: this.#services, nodeChecks: this.#nodeChecks, isStrict });
	}

	#answer(
		path: string,
		query: URLSearchParams,
		response: ServerResponse,
		headers: Readonly<Record<string, string | null>>,
		body: unknown = this.#body(path, query),
	): void {
		const all: Record<string, string | null> = {
			'content-type': 'application/json',
			'x-consul-index': String(this.#indexOf(path, query)),
			'x-consul-knownleader': String(this.knownLeader),
			'x-consul-lastcontact': '0',
			...headers,
		};
		response.writeHead(
			this.#keys.answer(path, query)?.status ?? 200,
			Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value ? [[name, value]] : []))),
		);
		this.#late(() => response.end(JSON.stringify(body)));
	}

	#late(answer: () => unknown): void {
		if (this.delayMs === 0) answer();
		else this.#clock.setTimeout(() => answer(), this.delayMs);
	}

	#misbehave(fault: FakeConsulFault, query: URLSearchParams, path: string, response: ServerResponse): void {
		if (typeof fault === 'object' && 'headers' in fault) this.#answer(path, query, response, fault.headers, fault.body);
		else misbehave(fault, response, this.#index);
	}
}
