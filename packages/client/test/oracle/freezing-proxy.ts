import { Agent, createServer, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What a frozen service was when it was last asked for. */
interface Frozen {
	readonly headers: Record<string, string | string[] | undefined>;
	readonly body: Buffer;
}

/**
 * A way to Consul on which one service stands still from a moment on: what was its answer then goes on being it, under its
 * index of then, and a blocking query of it is held as Consul would hold it. For the proof that the oracle sees that.
 */
export class FreezingProxy implements AsyncDisposable {
	readonly #target: string;
	readonly #service: string;
	readonly #server: Server;
	readonly #agent = new Agent({ keepAlive: true });
	readonly #sockets = new Set<Socket>();
	/** By the path and the query but for index and wait. */
	readonly #answers = new Map<string, Frozen>();
	#isFrozen = false;

	private constructor(target: string, service: string) {
		this.#target = target;
		this.#service = encodeURIComponent(service);
		this.#server = createServer((incoming, outgoing) => {
			const { url = '/', method = 'GET', headers } = incoming;
			const frozen = this.#frozen(url);
			if (frozen !== undefined) {
				if (isBlocking(url)) return;
				answer(outgoing, frozen);
				return;
			}
			const asked = request(`${this.#target}${url}`, { method, headers, agent: this.#agent }, (response) => {
				const chunks: Buffer[] = [];
				response.on('data', (chunk: Buffer) => chunks.push(chunk));
				response.on('error', () => outgoing.destroy());
				response.on('end', () => {
					const got = { headers: response.headers, body: Buffer.concat(chunks) };
					// A held query of before: what it says now must not come through.
					const instead = this.#frozen(url);
					if (instead === undefined && this.#isOfService(url)) this.#answers.set(nameOf(url), got);
					outgoing.statusCode = response.statusCode ?? 500;
					answer(outgoing, instead ?? got);
				});
			});
			asked.on('error', () => outgoing.destroy());
			outgoing.on('close', () => asked.destroy());
			incoming.pipe(asked);
		});
		this.#server.on('connection', (socket) => {
			this.#sockets.add(socket);
			socket.on('close', () => this.#sockets.delete(socket));
		});
	}

	static async start(target: string, service: string): Promise<FreezingProxy> {
		const proxy = new FreezingProxy(target, service);
		await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
		return proxy;
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	freeze(): void {
		this.#isFrozen = true;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const socket of this.#sockets) socket.destroy();
		this.#agent.destroy();
		await new Promise<void>((resolve) => this.#server.close(() => resolve()));
	}

	#isOfService(url: string): boolean {
		return new URL(url, 'http://consul').pathname === `/v1/health/service/${this.#service}`;
	}

	#frozen(url: string): Frozen | undefined {
		return this.#isFrozen && this.#isOfService(url) ? this.#answers.get(nameOf(url)) : undefined;
	}
}

function nameOf(url: string): string {
	const { pathname, searchParams } = new URL(url, 'http://consul');
	for (const name of ['index', 'wait']) searchParams.delete(name);
	return `${pathname}?${searchParams}`;
}

function isBlocking(url: string): boolean {
	return Number(new URL(url, 'http://consul').searchParams.get('index') ?? 0) > 0;
}

function answer(outgoing: ServerResponse, { headers, body }: Frozen): void {
	for (const name of ['x-consul-index', 'content-type', 'x-consul-knownleader', 'x-consul-lastcontact']) {
		const value = headers[name];
		if (value !== undefined) outgoing.setHeader(name, value);
	}
	outgoing.end(body);
}
