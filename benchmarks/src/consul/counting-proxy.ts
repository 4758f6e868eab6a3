import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import { median } from '../load/samples.ts';
import type { Traffic } from './consul-results.ts';

const LOOK_MS = 1000;

/** Stands between one pod and Consul, and counts what passes. */
export class CountingProxy implements AsyncDisposable {
	readonly #server: Server;
	/** As many connections to Consul as the pod makes to us: it waits for none. */
	readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
	readonly #target: URL;
	readonly #sockets = new Set<Socket>();
	#bytesOfClosed = 0;
	#queries = 0;
	#connections = 0;
	#held = 0;
	#failed = 0;
	readonly #looks: number[] = [];
	readonly #looking: NodeJS.Timeout;
	#startedMs = performance.now();
	#bytesBefore = 0;

	private constructor(target: string) {
		this.#target = new URL(target);
		this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
		// Blocking queries are minutes long.
		this.#server.requestTimeout = 0;
		this.#server.keepAliveTimeout = 120_000;
		this.#looking = setInterval(() => this.#looks.push(this.#held), LOOK_MS);
		this.#server.on('connection', (socket: Socket) => this.#count(socket));
	}

	/** Starts one in front of Consul's HTTP address. */
	static async start(target: string): Promise<CountingProxy> {
		const proxy = new CountingProxy(target);
		await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
		return proxy;
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	/** Blocking queries that wait at Consul: the median of looks since the last reset, one a second. */
	get held(): number {
		return this.#looks.length === 0 ? this.#held : median(this.#looks);
	}

	/** Answers that were no success, since the last reset. */
	get failed(): number {
		return this.#failed;
	}

	/** Counts from here. */
	reset(): void {
		this.#startedMs = performance.now();
		this.#queries = 0;
		this.#failed = 0;
		this.#looks.length = 0;
		this.#connections = this.#sockets.size;
		this.#bytesBefore = this.#bytes();
	}

	/** What has passed since the last reset. */
	traffic(): Traffic {
		const seconds = (performance.now() - this.#startedMs) / 1000;
		const aMinute = 60 / seconds;
		return {
			seconds,
			connections: this.#connections,
			queriesAMinute: this.#queries * aMinute,
			kilobytesAMinute: ((this.#bytes() - this.#bytesBefore) / 1024) * aMinute,
		};
	}

	async [Symbol.asyncDispose](): Promise<void> {
		clearInterval(this.#looking);
		const closed = new Promise((resolve) => this.#server.close(resolve));
		this.#server.closeAllConnections();
		this.#agent.destroy();
		await closed;
	}

	#bytes(): number {
		let bytes = this.#bytesOfClosed;
		for (const socket of this.#sockets) bytes += socket.bytesRead + socket.bytesWritten;
		return bytes;
	}

	#count(socket: Socket): void {
		this.#sockets.add(socket);
		this.#connections = Math.max(this.#connections, this.#sockets.size);
		socket.once('close', () => {
			this.#sockets.delete(socket);
			this.#bytesOfClosed += socket.bytesRead + socket.bytesWritten;
		});
	}

	#pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
		this.#queries++;
		const { hostname, port } = this.#target;
		const { method, url: path, headers } = incoming;
		const held = path?.includes('index=') === true ? 1 : 0;
		this.#held += held;
		const passedOn = request({ agent: this.#agent, hostname, port, method, path, headers }, (answer) => {
			if (answer.statusCode !== 200) this.#failed++;
			outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
			answer.pipe(outgoing);
		});
		passedOn.on('error', () => {
			// Also where the other side has gone before.
			if (!outgoing.destroyed) this.#failed++;
			outgoing.destroy();
		});
		outgoing.on('close', () => {
			this.#held -= held;
			passedOn.destroy();
		});
		incoming.pipe(passedOn);
	}
}
