import { connect, type Socket } from 'node:net';

import { encodePayload, type HelloReply, PROTOCOL_VERSIONS, readSidecarMessage, SpockError } from '@spock/protocol';
import { isObject, messageOf } from '@spock/protocol/internal';
import { FramedSocket, formatAddress, type Packing } from '@spock/protocol/node';

import { PackedWriter } from './packed-writer.ts';

/** A peer whose machine is gone is found by the kernel also while nothing is to be sent. */
const KEEP_ALIVE_MS = 10_000;

/** Where a sidecar takes clients, and what they need for it. */
export interface SidecarAccess {
	readonly host: string;
	readonly port: number;
	/** Speaks TLS. Absent: no TLS. */
	readonly tls?: SidecarTls | undefined;
	/** For hello, if the sidecar requires one. */
	readonly token?: string | undefined;
}

/** All in PEM. */
export interface SidecarTls {
	/** The authorities to be trusted. Default: those of Node. */
	readonly ca?: string | undefined;
	/** The certificate that is shown where the sidecar requires one, with its private key. Default: none. */
	readonly cert?: string | undefined;
	readonly key?: string | undefined;
}

/** What a connection needs besides the address, and whom it tells. */
export interface ConnectionOptions {
	/** For people, in the status of the other sidecar. */
	readonly client: string;
	/** Of the connection with its hello, and of each request. */
	readonly timeoutMs: number;
	/** For hello. */
	readonly features: readonly string[];
	readonly pushed: (event: string, data: unknown) => void;
	/** More of what was written has gone. */
	readonly drained?: () => void;
	/** It is gone, by no wish of this side. Called once, also where it could not be made. */
	readonly lost: (error: SpockError) => void;
}

interface Waiting {
	readonly resolve: (data: unknown) => void;
	readonly reject: (error: SpockError) => void;
	readonly timer: NodeJS.Timeout;
}

/** A connection to another sidecar: says hello at once, and ends with the first thing that goes wrong. Every error is UNAVAILABLE. */
export class SidecarConnection {
	/** Of the sidecar, for messages. */
	readonly name: string;
	/** The answer to hello. Rejects with what `lost` is told. */
	readonly greeted: Promise<HelloReply>;
	readonly #socket: Socket;
	readonly #options: ConnectionOptions;
	readonly #framed: FramedSocket;
	readonly #waiting = new Map<number, Waiting>();
	#packed: PackedWriter | undefined;
	#lastId = 0;
	#error: SpockError | undefined;
	#isOver = false;

	private constructor(name: string, socket: Socket, token: string | undefined, options: ConnectionOptions) {
		this.name = name;
		this.#socket = socket;
		this.#options = options;
		socket.setNoDelay(true);
		socket.setKeepAlive(true, KEEP_ALIVE_MS);
		this.#framed = new FramedSocket(socket, {
			frame: (text) => this.#read(text),
			fault: (code, message) => this.#end(this.#fault(`sent what is no frame: ${code}, ${message}`)),
			ended: () => this.#framed.destroy(),
			drained: () => options.drained?.(),
			closed: (cause) => this.#end(this.#fault(cause === undefined ? 'ended the connection' : messageOf(cause), cause)),
		});
		const { client, features } = options;
		const hello = {
			versions: PROTOCOL_VERSIONS,
			client,
			pid: process.pid,
			features,
			...(token !== undefined && { token }),
		};
		this.greeted = this.request('hello', hello) as Promise<HelloReply>;
		// Who has not come to wait for it is told of the end.
		this.greeted.catch(() => undefined);
	}

	/** Begins to connect. */
	static async open(access: SidecarAccess, options: ConnectionOptions): Promise<SidecarConnection> {
		const { host, port, tls, token } = access;
		const name = `${tls === undefined ? '' : 'tls://'}${formatAddress({ host, port })}`;
		if (tls === undefined) return new SidecarConnection(name, connect({ host, port }), token, options);
		// Loaded for TLS alone.
		const { connect: connectTls } = await import('node:tls');
		const { ca, cert, key } = tls;
		const socket = connectTls({ host, port, ca, cert, key, minVersion: 'TLSv1.2' });
		return new SidecarConnection(name, socket, token, options);
	}

	/** Rejects with UNAVAILABLE, whatever the answer says: its code and text are in the message. */
	request(func: string, data: unknown): Promise<unknown> {
		return new Promise((resolve, reject) => {
			if (this.#error !== undefined) throw this.#error;
			const id = ++this.#lastId;
			const { timeoutMs } = this.#options;
			const late = (): void => this.#end(this.#fault(`did not answer ${func} within ${timeoutMs} ms`));
			this.#waiting.set(id, { resolve, reject, timer: setTimeout(late, timeoutMs) });
			this.#framed.write(`{"id":${id},"func":"${func}","data":${encodePayload(data)}}\n`);
		});
	}

	/** From now on lines are packed, once hello was answered with this. */
	pack(packing: Packing): void {
		this.#packed = new PackedWriter(packing, this.#socket, () => this.#options.drained?.());
	}

	/** What was written and is still here. */
	get backlogBytes(): number {
		return this.#packed?.backlogBytes ?? this.#framed.bufferedBytes;
	}

	/** Sends whole lines that are not answered. */
	write(lines: string): void {
		if (this.#packed !== undefined) {
			this.#packed.write(lines);
			return;
		}
		this.#framed.write(lines);
		this.#framed.flush();
	}

	/** Nothing is told any more, and what waits is rejected. Idempotent. */
	destroy(): void {
		this.#isOver = true;
		this.#end(this.#fault('was left'));
	}

	#read(text: string): void {
		const message = readSidecarMessage(text);
		switch (message.kind) {
			case 'push':
				this.#options.pushed(message.event, message.data);
				return;
			case 'reply':
				this.#take(message.id)?.resolve(message.data);
				return;
			case 'failure': {
				const { code, message: why } = isObject(message.error)
					? message.error
					: { code: 'INTERNAL', message: 'no reason' };
				const error = this.#fault(`answered ${String(code)}: ${String(why)}`);
				if (message.id === null) this.#end(error);
				else this.#take(message.id)?.reject(error);
				return;
			}
			default:
				this.#end(this.#fault(`sent what is no message: ${message.message}`));
		}
	}

	#take(id: number): Waiting | undefined {
		const waiting = this.#waiting.get(id);
		this.#waiting.delete(id);
		clearTimeout(waiting?.timer);
		return waiting;
	}

	#fault(what: string, cause?: Error): SpockError {
		return new SpockError('UNAVAILABLE', `the sidecar at ${this.name} ${what}`, { cause });
	}

	#end(error: SpockError): void {
		if (this.#error !== undefined) return;
		this.#error = error;
		for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(error);
		this.#framed.destroy();
		if (!this.#isOver) this.#options.lost(error);
	}
}
