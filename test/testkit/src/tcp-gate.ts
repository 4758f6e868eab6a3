import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

import { freePort } from './free-ports.ts';

const HOST = '127.0.0.1';

/**
 * A way to a server that a test can shut: `held` bytes wait at the gate as at a server that hangs; a `closed` gate drops its
 * connections and refuses new ones, as a server that is gone.
 */
export class TcpGate implements AsyncDisposable {
	#targetPort: number;
	readonly #pairs = new Set<readonly [Socket, Socket]>();
	#server: Server | undefined;
	#port = 0;
	#isHeld = false;

	/** Opens a gate to a port of 127.0.0.1, at a free port of its own. */
	static async open(targetPort: number): Promise<TcpGate> {
		const gate = new TcpGate(targetPort);
		await gate.open();
		return gate;
	}

	constructor(targetPort: number) {
		this.#targetPort = targetPort;
	}

	/** `http://127.0.0.1:port` of the gate. */
	get url(): string {
		return `http://${HOST}:${this.#port}`;
	}

	/** Lets nothing come back from the server while true. */
	hold(isHeld: boolean): void {
		this.#isHeld = isHeld;
		for (const [, server] of this.#pairs) {
			if (isHeld) server.pause();
			else server.resume();
		}
	}

	/** Listens, at the port it had before if there was one. */
	async open(): Promise<void> {
		if (this.#server !== undefined) return;
		if (this.#port === 0) this.#port = await freePort();
		const server = createServer((client) => this.#join(client));
		this.#server = server;
		server.listen(this.#port, HOST);
		await once(server, 'listening');
	}

	/** New connections lead to this port from now on, as those of a Service do; the others stay. */
	leadTo(targetPort: number): void {
		this.#targetPort = targetPort;
	}

	/** Drops every connection and refuses new ones. */
	async shut(): Promise<void> {
		const server = this.#server;
		this.#server = undefined;
		for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
		if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.shut();
	}

	#join(client: Socket): void {
		const server = connect(this.#targetPort, HOST);
		const pair = [client, server] as const;
		this.#pairs.add(pair);
		if (this.#isHeld) server.pause();
		for (const [from, to] of [pair, [server, client] as const]) {
			from.on('data', (chunk) => to.write(chunk));
			from.on('end', () => to.end());
			from.on('error', () => to.destroy());
			from.on('close', () => {
				to.destroy();
				this.#pairs.delete(pair);
			});
		}
	}
}
