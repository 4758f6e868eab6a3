import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';

import { FrameDecoder } from '@spock/protocol';

export type Frame = Record<string, unknown> & { readonly error?: Record<string, unknown> };

/** A client that writes lines and reads frames one by one; `undefined` is the end. */
export class RawClient implements AsyncDisposable {
	readonly socket: Socket;
	readonly #frames: (Frame | undefined)[] = [];
	#wake: () => void = () => undefined;

	private constructor(socket: Socket) {
		this.socket = socket;
		const decoder = new FrameDecoder({
			frame: (text) => this.#tell(JSON.parse(text) as Frame),
			fault: (code) => this.#tell({ fault: code }),
		});
		socket.on('data', (chunk) => decoder.push(chunk));
		socket.on('end', () => this.#tell(undefined));
		// A sidecar that closes on a client that still writes: the frames that came before are what counts.
		socket.on('error', () => this.#tell(undefined));
	}

	/** At a socket's path, or at a port of this machine. */
	static async open(to: string | number): Promise<RawClient> {
		const place = typeof to === 'string' ? { path: to } : { port: to, host: '127.0.0.1' };
		const client = new RawClient(createConnection({ ...place, allowHalfOpen: true }));
		await once(client.socket, 'connect');
		return client;
	}

	/** Frames that have come and were not read yet. */
	get unread(): number {
		return this.#frames.length;
	}

	send(frame: unknown): void {
		this.socket.write(`${JSON.stringify(frame)}\n`);
	}

	request(id: number, func: string, data: unknown = null, members: Record<string, unknown> = {}): void {
		this.send({ id, func, data, ...members });
	}

	async next(): Promise<Frame | undefined> {
		while (this.#frames.length === 0) {
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
		return this.#frames.shift();
	}

	async ask(id: number, func: string, data: unknown = null): Promise<Frame | undefined> {
		this.request(id, func, data);
		return this.next();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.socket.destroy();
	}

	#tell(frame: Frame | undefined): void {
		this.#frames.push(frame);
		this.#wake();
	}
}
