import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import {
	encodeFailure,
	encodePayload,
	encodePush,
	encodeReply,
	FrameDecoder,
	type KeyQuery,
	type KeySnapshot,
	keyQueryKey,
	makeKeySnapshot,
	normaliseKeyQuery,
	queryKey,
	readClientMessage,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
	type TraceContext,
	type WireError,
} from '@spock/protocol';

/** One frame of a client, as it was read. */
export interface RecordedRequest {
	/** -1 for a notice. */
	readonly id: number;
	readonly func: string;
	readonly data: unknown;
	/** Number of the connection it came on, from 0. */
	readonly connection: number;
	/** The trace that it belongs to, if it says so. */
	readonly trace?: TraceContext;
}

/** What a handler gives: the data of the reply, a failure, or nothing (the request is held until `answer`). */
export type FakeAnswer = { readonly data: unknown } | { readonly error: WireError } | 'hold';

/** How a fake sidecar behaves. */
export interface FakeSidecarOptions {
	/**
	 * `full` answers hello as version 1 does; `null` and `unknown-func` are the two kinds of baseline sidecar; `silent`
	 * never answers hello; `unsupported` shares no version. Default `full`.
	 */
	readonly hello?: 'full' | 'null' | 'unknown-func' | 'silent' | 'unsupported';
	/** Told in hello. Default `fake-1`. */
	readonly instance?: string;
	/** Told in hello. Default: none. */
	readonly zone?: string;
	/** Told in hello. */
	readonly limits?: { readonly frameBytesMax?: number; readonly inFlightMax?: number };
	/** Answers a function in the place of the built-in answer; undefined falls through to that. */
	readonly handle?: (request: RecordedRequest) => FakeAnswer | undefined;
}

/** One client's connection, to script by hand. */
export class FakeConnection {
	readonly number: number;
	readonly stream: Duplex;
	/** Queries subscribed to on it. */
	readonly subscriptions: Set<string> = new Set();
	/** Queries about keys subscribed to on it. */
	readonly keySubscriptions: Set<string> = new Set();

	constructor(number: number, stream: Duplex) {
		this.number = number;
		this.stream = stream;
	}

	/** Bytes as they are. */
	sendRaw(bytes: string | Uint8Array): void {
		if (!this.stream.destroyed) this.stream.write(bytes);
	}

	reply(id: number, data: unknown): void {
		this.sendRaw(encodeReply(id, encodePayload(data)));
	}

	fail(id: number | null, error: WireError): void {
		this.sendRaw(encodeFailure(id, error));
	}

	push(event: string, data: unknown): void {
		this.sendRaw(encodePush(event, encodePayload(data)));
	}

	/** Drops the connection, as a crash does. */
	drop(): void {
		this.stream.destroy();
	}
}

/** A failure as it stands on the wire. */
export function wireError(code: string, retryable = false): WireError {
	return { code, message: `a scripted ${code}`, retryable, details: {} };
}

/** Holds every ping until the test answers it. */
export const HOLD_PING: FakeSidecarOptions = { handle: ({ func }) => (func === 'ping' ? 'hold' : undefined) };

/** A passing instance, and what is given of it. */
export function fakeInstance(instance: string, members: Partial<ServiceInstance> = {}): ServiceInstance {
	const plain = { host: instance, port: 80, weight: 1, status: 'passing', zone: null, datacenter: null } as const;
	return { instance, ...plain, tags: [], meta: {}, ...members };
}

/** A snapshot with one passing instance for each `host:port`. */
export function fakeSnapshot(service: string, revision: number, hosts: readonly string[]): ServiceSnapshot {
	return {
		service,
		revision,
		source: 'live',
		ageMs: 0,
		verifiedAt: Date.now(),
		instances: hosts.map((text) => {
			const [host = '', port = '80'] = text.split(':');
			return fakeInstance(`node/${text}`, { host, port: Number(port) });
		}),
	};
}

/** What is known of a key: its value as text, or null where there is none. */
export function fakeKey(key: string, revision: number, value: string | null): KeySnapshot {
	return makeKeySnapshot({ key }, value === null ? [] : [{ key, value }], {
		revision,
		source: 'live',
		ageMs: 0,
		verifiedAt: Date.now(),
	});
}

/** What is known of a prefix. */
export function fakePrefix(key: string, revision: number, values: Readonly<Record<string, string>>): KeySnapshot {
	const entries = Object.entries(values).map(([name, value]) => ({ key: name, value }));
	return makeKeySnapshot({ key, prefix: true }, entries, {
		revision,
		source: 'live',
		ageMs: 0,
		verifiedAt: Date.now(),
	});
}

/**
 * A sidecar that does what a test says, over real sockets (`listen`) or over any streams (`accept`). It knows the services
 * put into it, records every request, and can hold, reorder, drop and send raw bytes.
 */
export class FakeSidecar implements AsyncDisposable {
	readonly requests: RecordedRequest[] = [];
	/** Every connection ever made, in order; the last is the newest. */
	readonly connections: FakeConnection[] = [];
	options: FakeSidecarOptions;
	readonly #services = new Map<string, ServiceSnapshot>();
	readonly #keys = new Map<string, KeySnapshot>();
	readonly #live = new Set<Duplex>();
	#server: Server | undefined;

	constructor(options: FakeSidecarOptions = {}) {
		this.options = options;
	}

	/** Listens at a path, or on a free port of 127.0.0.1. */
	static async listen(path?: string, options: FakeSidecarOptions = {}): Promise<FakeSidecar> {
		const sidecar = new FakeSidecar(options);
		await sidecar.listen(path);
		return sidecar;
	}

	/** The port when listening on TCP. */
	get port(): number {
		const address = this.#server?.address();
		return typeof address === 'object' && address !== null ? address.port : 0;
	}

	/** Connections that are open now. */
	get liveCount(): number {
		return this.#live.size;
	}

	/** The newest connection; throws when there is none. */
	get connection(): FakeConnection {
		const newest = this.connections.at(-1);
		if (newest === undefined) throw new Error('nobody has connected');
		return newest;
	}

	async listen(path?: string): Promise<void> {
		const server = createServer((socket) => this.accept(socket));
		this.#server = server;
		if (path === undefined) server.listen(0, '127.0.0.1');
		else server.listen(path);
		await once(server, 'listening');
	}

	/** Stops listening and drops every connection. The same path can be listened at again. */
	async stop(): Promise<void> {
		for (const stream of this.#live) stream.destroy();
		const server = this.#server;
		this.#server = undefined;
		if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	/** Serves one stream. */
	accept(stream: Duplex | Socket): FakeConnection {
		const connection = new FakeConnection(this.connections.length, stream);
		this.connections.push(connection);
		this.#live.add(stream);
		const decoder = new FrameDecoder({
			frame: (text) => this.#receive(connection, text),
			fault: (code) => connection.fail(null, wireError(code)),
		});
		stream.on('data', (chunk: Buffer) => decoder.push(chunk));
		stream.on('error', () => undefined);
		stream.on('close', () => this.#live.delete(stream));
		return connection;
	}

	/** Requests of one function so far. */
	requestsOf(func: string): RecordedRequest[] {
		return this.requests.filter((request) => request.func === func);
	}

	/** Puts a snapshot in, and pushes it to whoever subscribed. */
	publish(snapshot: ServiceSnapshot): void {
		const key = queryKey(snapshot);
		this.#services.set(key, snapshot);
		for (const connection of this.connections) {
			if (connection.subscriptions.has(key)) connection.push('service', snapshot);
		}
	}

	/** Puts what is known of a key or prefix in, and pushes it to whoever subscribed. */
	publishKey(snapshot: KeySnapshot): void {
		const name = keyQueryKey(snapshot);
		this.#keys.set(name, snapshot);
		for (const connection of this.connections) {
			if (connection.keySubscriptions.has(name)) connection.push('key', snapshot);
		}
	}

	#receive(connection: FakeConnection, text: string): void {
		const message = readClientMessage(text);
		if (message.kind === 'fault') {
			connection.fail(message.id, wireError(message.code));
			return;
		}
		const id = message.kind === 'request' ? message.id : -1;
		const trace = message.kind === 'request' ? message.trace : undefined;
		const { func, data } = message;
		const request = { id, func, data, connection: connection.number, ...(trace && { trace }) };
		this.requests.push(request);
		if (message.kind === 'notice') return;
		const answer = this.options.handle?.(request) ?? this.#answer(connection, request);
		if (answer === 'hold') return;
		if ('error' in answer) connection.fail(id, answer.error);
		else connection.reply(id, answer.data);
	}

	#answer(connection: FakeConnection, { func, data }: RecordedRequest): FakeAnswer {
		const { hello = 'full' } = this.options;
		const baseline = hello === 'null' || hello === 'unknown-func';
		switch (func) {
			case 'hello':
				return this.#hello(hello);
			case 'ping':
				return { data };
			case 'getService': {
				const [first] = this.snapshotOf(data as ServiceQuery).instances;
				if (first === undefined) return { error: wireError('NO_SUCH_SERVICE') };
				const { host, port, instance } = first;
				return { data: baseline ? { host, port } : { host, port, instance } };
			}
		}
		if (baseline) return hello === 'null' ? { data: null } : { error: wireError('UNKNOWN_FUNC') };
		switch (func) {
			case 'getInstances':
				return { data: this.snapshotOf(data as ServiceQuery) };
			case 'watchService':
				connection.subscriptions.add(queryKey(data as ServiceQuery));
				return { data: this.snapshotOf(data as ServiceQuery) };
			case 'unwatchService':
				connection.subscriptions.delete(queryKey(data as ServiceQuery));
				return { data: null };
			case 'getKey':
				return { data: this.keySnapshotOf(data as KeyQuery) };
			case 'watchKey':
				connection.keySubscriptions.add(keyQueryKey(data as KeyQuery));
				return { data: this.keySnapshotOf(data as KeyQuery) };
			case 'unwatchKey':
				connection.keySubscriptions.delete(keyQueryKey(data as KeyQuery));
				return { data: null };
			case 'listServices': {
				const services = [...this.#services.values()].map(({ service }) => ({ name: service, tags: [] }));
				return { data: { services, source: 'live', ageMs: 0, verifiedAt: Date.now() } };
			}
			default:
				return { error: wireError('UNKNOWN_FUNC') };
		}
	}

	#hello(hello: NonNullable<FakeSidecarOptions['hello']>): FakeAnswer {
		const { instance = 'fake-1', limits = {}, zone } = this.options;
		switch (hello) {
			case 'full': {
				const features = ['push', 'goaway'];
				const told = { frameBytesMax: 1_048_576, inFlightMax: 65_536, ...limits };
				const own = { version: 1, sidecar: '@spock/fake/1.0.0', instance, ...(zone !== undefined && { zone }) };
				return { data: { ...own, features, limits: told } };
			}
			case 'null':
				return { data: null };
			case 'unknown-func':
				return { error: wireError('UNKNOWN_FUNC') };
			case 'silent':
				return 'hold';
			case 'unsupported':
				return { error: { ...wireError('UNSUPPORTED_VERSION'), details: { versions: [2] } } };
		}
	}

	/** What it knows of a key or prefix. */
	keySnapshotOf(query: KeyQuery): KeySnapshot {
		const known = this.#keys.get(keyQueryKey(query));
		return (
			known ??
			makeKeySnapshot(normaliseKeyQuery(query), [], {
				revision: 1,
				source: 'live',
				ageMs: 0,
				verifiedAt: Date.now(),
			})
		);
	}

	/** What it knows of a query; a service that is not known has no instances. */
	snapshotOf(query: ServiceQuery): ServiceSnapshot {
		const { service, ...asked } = query;
		const known = this.#services.get(queryKey(query));
		if (known !== undefined) return known;
		return { ...fakeSnapshot(service, 1, []), ...asked };
	}
}
