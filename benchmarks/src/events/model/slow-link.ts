import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { LinkRate } from './link-rate.ts';

const HOST = '127.0.0.1';

/** A link to a TCP server of this machine: all connections together send at its rate. What comes back is not limited, and counted too. */
export class SlowLink implements AsyncDisposable {
	readonly #target: number;
	readonly #rate: LinkRate | undefined;
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	#bytes = 0;

	private constructor(target: number, bytesPerSecond: number | undefined) {
		this.#target = target;
		this.#rate = bytesPerSecond === undefined ? undefined : new LinkRate(bytesPerSecond);
		// It reads on after the end of its other half: the answers to what was sent before still come.
		this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#join(socket));
	}

	/** Opens one to a port of 127.0.0.1. Without a rate it only counts. */
	static async open(target: number, bytesPerSecond?: number): Promise<SlowLink> {
		const link = new SlowLink(target, bytesPerSecond);
		link.#server.listen(0, HOST);
		await once(link.#server, 'listening');
		return link;
	}

	get port(): number {
		return (this.#server.address() as AddressInfo).port;
	}

	/** What has been sent through it, towards the server. */
	get bytes(): number {
		return this.#bytes;
	}

	/** Another rate from now on. Does nothing for a link without one. */
	change(bytesPerSecond: number): void {
		this.#rate?.change(bytesPerSecond);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const closed = new Promise((resolve) => this.#server.close(resolve));
		for (const socket of this.#sockets) socket.destroy();
		await closed;
	}

	#join(client: Socket): void {
		const server = connect({ port: this.#target, host: HOST, allowHalfOpen: true, noDelay: true });
		client.setNoDelay();
		for (const [socket, other] of [
			[client, server],
			[server, client],
		] as const) {
			this.#sockets.add(socket);
			// Either end may be killed: the other one then learns it.
			socket.on('error', () => other.destroy());
			socket.on('close', () => {
				other.destroy();
				this.#sockets.delete(socket);
			});
		}
		server.pipe(client);
		// The end of a stream is reported though it is paused, while its last bytes are still on their way.
		let passing: Promise<void> = Promise.resolve();
		client.on('data', (chunk) => {
			passing = this.#pass(chunk, client, server);
		});
		client.on('end', () => void passing.then(() => server.end()));
	}

	/** Nothing more is read before this is sent: what waits fills the sockets, as on a real link. */
	async #pass(chunk: Buffer, client: Socket, server: Socket): Promise<void> {
		client.pause();
		const delayMs = this.#rate?.delayMs(chunk.length, performance.now()) ?? 0;
		// A timer is late by up to a millisecond and never early: the rate makes up for it.
		if (delayMs >= 1) await delay(delayMs);
		this.#bytes += chunk.length;
		if (server.write(chunk)) client.resume();
		else server.once('drain', () => client.resume());
	}
}
