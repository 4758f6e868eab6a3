import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

import {
	encodePayload,
	encodeRequest,
	encodeRequestTail,
	FRAME_BYTES_MAX_CEILING,
	type FuncData,
	type FuncName,
	type FuncReply,
	readSidecarMessage,
	SpockError,
} from '@spock/protocol';
import { FramedSocket } from '@spock/protocol/node';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import type { SidecarTarget } from './sidecar-target.ts';

interface Waiting {
	resolve(data: unknown): void;
	reject(error: Error): void;
}

/** A client for one command: one connection, no reconnecting, no balancing. Apps use Diplomat. */
export class WireClient {
	readonly #framed: FramedSocket;
	readonly #waiting = new Map<number, Waiting>();
	readonly #address: string;
	#nextId = 1;
	/** Told of every push. */
	onPush: (event: string, data: unknown) => void = () => undefined;
	/** Resolves when the connection is gone. */
	readonly closed: Promise<void>;
	/** Resolves when the sidecar asks to be left: another one stands at its address. Only after a hello with `goaway`. */
	readonly sentAway: Promise<void>;
	#sendAway: () => void = () => undefined;

	private constructor(socket: Socket, { name: address, transport }: SidecarTarget) {
		this.#address = address;
		let settleClosed: () => void = () => undefined;
		this.closed = new Promise((resolve) => {
			settleClosed = resolve;
		});
		this.sentAway = new Promise((resolve) => {
			this.#sendAway = resolve;
		});
		const onClosed = (cause?: Error): void => {
			const why = cause === undefined ? '' : `: ${cause.message}`;
			// A listener with TLS takes plain bytes for a broken handshake, and says nothing that could be read.
			const isSilent = transport === 'tcp' && this.#framed.bytesRead === 0;
			const hint = isSilent ? `. If it speaks TLS: --connect tls://${address}` : '';
			const error = new CommandError(EXIT.noSidecar, `the sidecar at ${address} closed the connection${why}${hint}`);
			for (const { reject } of this.#waiting.values()) reject(error);
			this.#waiting.clear();
			settleClosed();
		};
		// It never says how long a frame it takes: so it must take any that a sidecar may send.
		this.#framed = new FramedSocket(
			socket,
			{ frame: (text) => this.#onFrame(text), fault: () => undefined, closed: onClosed },
			{ frameBytesMax: FRAME_BYTES_MAX_CEILING },
		);
	}

	/**
	 * Connects, or rejects with exit code 3 and what to do about it. With a `secret` the sidecar knows that its connections are
	 * of one client.
	 */
	static async open(target: SidecarTarget, timeoutMs: number, secret?: string): Promise<WireClient> {
		const { token } = target;
		const client = await WireClient.#connected(target, timeoutMs);
		if (token === undefined && secret === undefined) return client;
		try {
			const proofs = { ...(token !== undefined && { token }), ...(secret !== undefined && { secret }) };
			await client.request('hello', { versions: [1], client: 'sidecar', ...proofs }, timeoutMs);
			return client;
		} catch (error) {
			client.close();
			throw error;
		}
	}

	static async #connected(target: SidecarTarget, timeoutMs: number): Promise<WireClient> {
		const { name } = target;
		const { socket, connected } = await target.open().catch((error: NodeJS.ErrnoException) => {
			throw error.syscall === undefined ? error : noSidecar(name, explain(error, target), error);
		});
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				socket.destroy();
				reject(noSidecar(name, `it did not accept within ${timeoutMs} ms`));
			}, timeoutMs);
			const onError = (error: NodeJS.ErrnoException): void => {
				clearTimeout(timer);
				if (isUntrusted(socket)) reject(untrusted(name, error));
				else if (error.code === 'EACCES' || error.code === 'EPERM') reject(forbidden(name, error));
				else reject(noSidecar(name, explain(error, target), error));
			};
			socket.once('error', onError);
			socket.once(connected, () => {
				clearTimeout(timer);
				socket.off('error', onError);
				resolve(new WireClient(socket, target));
			});
		});
	}

	/** Calls any function. Rejects with the sidecar's failure, or when it does not answer in time. */
	call(func: string, data: unknown, timeoutMs: number): Promise<unknown> {
		const id = this.#nextId++;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				this.#waiting.delete(id);
				const message = `the sidecar at ${this.#address} did not answer within ${timeoutMs} ms; --timeout allows more`;
				reject(new CommandError(EXIT.failure, message, { cause: new SpockError('TIMEOUT', message) }));
			}, timeoutMs);
			const end = (): void => clearTimeout(timer);
			this.#waiting.set(id, {
				resolve: (reply) => {
					end();
					resolve(reply);
				},
				reject: (error) => {
					end();
					reject(error);
				},
			});
			this.#framed.write(encodeRequest(id, encodeRequestTail(func, encodePayload(data), timeoutMs)));
		});
	}

	/** Calls a function of the protocol, typed. */
	request<F extends FuncName>(func: F, data: FuncData<F>, timeoutMs: number): Promise<FuncReply<F>> {
		return this.call(func, data, timeoutMs) as Promise<FuncReply<F>>;
	}

	/** Ends the connection. */
	close(): void {
		this.#framed.destroy();
	}

	#onFrame(text: string): void {
		const message = readSidecarMessage(text);
		if (message.kind === 'push') {
			if (message.event === 'goaway') this.#sendAway();
			this.onPush(message.event, message.data);
		} else if (message.kind !== 'fault' && message.id !== null) {
			const waiting = this.#waiting.get(message.id);
			this.#waiting.delete(message.id);
			if (message.kind === 'reply') waiting?.resolve(message.data);
			else waiting?.reject(SpockError.fromWire(message.error));
		}
	}
}

/** True for a TLS socket whose peer has a certificate that was not accepted. */
function isUntrusted(socket: Socket): boolean {
	return Boolean((socket as Partial<TLSSocket>).authorizationError);
}

function untrusted(address: string, cause: NodeJS.ErrnoException): CommandError {
	const message = `the certificate of the sidecar at ${address} is not trusted: ${cause.message}`;
	// Another authority mends neither.
	const isOwnFault = cause.code === 'CERT_HAS_EXPIRED' || cause.code === 'ERR_TLS_CERT_ALTNAME_INVALID';
	const hint = isOwnFault ? '' : '. Name the authority that issued it with --tls-ca or SPOCK_CONNECT_CA';
	return new CommandError(EXIT.noSidecar, `${message}${hint}`, { cause });
}

/** Something is there: to start another one mends nothing. */
function forbidden(address: string, cause: NodeJS.ErrnoException): CommandError {
	const message = `no permission to connect to ${address}: this user may not write to the socket, or not enter its directory`;
	return new CommandError(EXIT.noSidecar, `${message}. Run this as the sidecar's user, or in the group of the socket`, {
		cause,
	});
}

function noSidecar(address: string, reason: string, cause?: Error): CommandError {
	const message = `no sidecar at ${address}: ${reason}. Start one with \`npx --no-install sidecar start\`, or say where it is with --socket or --connect`;
	return new CommandError(EXIT.noSidecar, message, { cause });
}

function explain({ code, message }: NodeJS.ErrnoException, { transport }: SidecarTarget): string {
	switch (code) {
		case 'ENOENT':
			return 'there is nothing at that path';
		case 'ECONNREFUSED':
			return `nobody listens there${transport === 'unix' ? ' (the socket of a sidecar that has died)' : ''}`;
		case 'ENOTSOCK':
			return 'what is at that path is no socket';
		default:
			return message;
	}
}
