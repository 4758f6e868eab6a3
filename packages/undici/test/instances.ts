import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

import type { CallOptions, ServiceInstance, ServiceQuery, ServiceSnapshot, ServiceSource } from '@spock/client';
import type { IssuedCertificate } from '@spock/testkit';

/** What was asked of an instance. */
export interface Received {
	readonly method: string;
	readonly path: string;
	readonly host: string | undefined;
	/** The name it was asked for in TLS; false where it was none. */
	readonly servername: string | false | null | undefined;
}

/** How an instance answers. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An HTTP server as an instance of a service. It answers with its name unless it is told otherwise. */
export class TestInstance implements AsyncDisposable {
	readonly name: string;
	readonly host: string;
	readonly received: Received[] = [];
	readonly sockets: Set<Socket> = new Set();
	answer: Answer;
	readonly #server: Server;

	static async start(
		name: string,
		options: { readonly host?: string; readonly tls?: IssuedCertificate } = {},
	): Promise<TestInstance> {
		const instance = new TestInstance(name, options.host ?? '127.0.0.1', options.tls);
		instance.#server.listen(0, instance.host);
		await once(instance.#server, 'listening');
		return instance;
	}

	constructor(name: string, host: string, tls?: IssuedCertificate) {
		this.name = name;
		this.host = host;
		this.answer = (_request, response) => response.end(name);
		const listener = (request: IncomingMessage, response: ServerResponse): void => {
			const { method = '', url = '', headers, socket } = request;
			const { servername } = socket as TLSSocket;
			this.received.push({ method, path: url, host: headers.host, servername });
			this.answer(request, response);
		};
		this.#server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
		// A connection ends when its client ends it.
		this.#server.keepAliveTimeout = 0;
		this.#server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
			this.sockets.add(socket);
			socket.on('close', () => this.sockets.delete(socket));
			socket.on('error', () => undefined);
		});
		this.#server.on('upgrade', (_request, socket) => {
			socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n');
		});
	}

	get port(): number {
		return (this.#server.address() as AddressInfo).port;
	}

	/** As the registry has it. Another host may stand for the one it listens at. */
	record(host: string = this.host, port: number = this.port): ServiceInstance {
		const place = { instance: this.name, host, port, weight: 1, status: 'passing' as const };
		return { ...place, tags: [], meta: {}, zone: null, datacenter: null };
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const closed = new Promise((resolve) => this.#server.close(resolve));
		for (const socket of this.sockets) socket.destroy();
		this.#server.closeAllConnections();
		await closed;
	}
}

/** Instances under one disposal. */
export async function startInstances(count: number): Promise<readonly TestInstance[] & AsyncDisposable> {
	const names = Array.from({ length: count }, (_, index) => `web-${index + 1}`);
	const instances = await Promise.all(names.map((name) => TestInstance.start(name)));
	const disposeAll = async (): Promise<void> => {
		await Promise.all(instances.map((instance) => instance[Symbol.asyncDispose]()));
	};
	return Object.assign(instances, { [Symbol.asyncDispose]: disposeAll });
}

/** A port that refuses connections, as an instance. */
export async function refusingInstance(name: string): Promise<ServiceInstance> {
	await using closed = await TestInstance.start(name);
	return closed.record();
}

/** A source whose services the test sets. */
export class ScriptedSource implements ServiceSource {
	readonly name = 'scripted';
	readonly #services = new Map<string, readonly ServiceInstance[]>();
	readonly #observers = new Map<Parameters<ServiceSource['watch']>[1], string>();
	#revision = 0;

	constructor(services: Readonly<Record<string, readonly ServiceInstance[]>> = {}) {
		for (const [service, instances] of Object.entries(services)) this.set(service, instances);
	}

	set(service: string, instances: readonly ServiceInstance[]): void {
		this.#revision++;
		this.#services.set(service, instances);
		for (const [observer, name] of this.#observers) if (name === service) observer.next(this.#snapshot(service));
	}

	peek(): undefined {
		return undefined;
	}

	async get({ service }: ServiceQuery, _options?: CallOptions): Promise<ServiceSnapshot> {
		return this.#snapshot(service);
	}

	watch(
		{ service }: { readonly service: string },
		observer: Parameters<ServiceSource['watch']>[1],
	): ReturnType<ServiceSource['watch']> {
		this.#observers.set(observer, service);
		observer.next(this.#snapshot(service));
		return { stop: () => void this.#observers.delete(observer) };
	}

	async list(): ReturnType<ServiceSource['list']> {
		return { services: [], source: 'live', ageMs: 0, verifiedAt: 0 };
	}

	async close(): Promise<void> {
		this.#observers.clear();
	}

	#snapshot(service: string): ServiceSnapshot {
		const instances = this.#services.get(service) ?? [];
		const state = { source: 'live' as const, ageMs: 0, verifiedAt: Date.now() };
		return { service, revision: this.#revision, instances, ...state };
	}
}
