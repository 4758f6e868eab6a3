import { once } from 'node:events';
import { createConnection, Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, connect as connectTls, type PeerCertificate } from 'node:tls';

import { type ServiceAddress, SpockError } from '@spock/client';
import {
	type ConnectionLease,
	type ConnectionTarget,
	type InstanceConnections,
	instanceError,
	outcomeOf,
	sniOf,
} from '@spock/client/integrations';
import { systemClock } from '@spock/protocol/internal';
import { AbstractConnector } from 'ioredis';

/** As ioredis, where the Redis says nothing (https://github.com/redis/ioredis, RedisOptions). */
const CONNECT_TIMEOUT_MS = 10_000;
const DISCONNECT_TIMEOUT_MS = 2_000;
/** For a connection without a time-out: the longest time that a timer of Node can wait. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** ioredis' own word for a Redis that was disconnected by the app while it connected. */
const CLOSED_MESSAGE = 'Connection is closed.';

/** What is used of ioredis' own options. */
export interface RedisConnectionOptions {
	readonly connectTimeout?: number;
	readonly disconnectTimeout?: number;
	readonly family?: number;
	/** True comes from a `rediss:` URL. */
	readonly tls?: true | ConnectionOptions;
}

/** What a connector needs. */
interface InstanceConnectorOptions {
	readonly target: ConnectionTarget;
	/** What the server must call its role; undefined: any. */
	readonly role: string | undefined;
	readonly connections: InstanceConnections<InstanceConnector>;
	readonly redis: RedisConnectionOptions;
}

/**
 * Connects one Redis of ioredis, again and again, each time to the instance that is picked then. What it cannot do is told to
 * the Redis as a stream that has failed: after a rejected `connect` ioredis would never try again.
 */
export class InstanceConnector extends AbstractConnector {
	readonly #options: InstanceConnectorOptions;
	readonly #connectTimeoutMs: number;
	/** Of the attempt under way. */
	#attempt = new AbortController();
	#lease: ConnectionLease | undefined;
	/** The socket while it connects: ioredis has not got it yet. */
	#dialling: Socket | undefined;
	/** The instance that the last attempt failed with: another one is better. */
	#failed: string | undefined;

	constructor(options: InstanceConnectorOptions) {
		super(options.redis.disconnectTimeout ?? DISCONNECT_TIMEOUT_MS);
		this.#options = options;
		// 0 is none, as in ioredis.
		this.#connectTimeoutMs = options.redis.connectTimeout ?? CONNECT_TIMEOUT_MS;
	}

	override async connect(): Promise<Socket> {
		this.connecting = true;
		delete this.firstError;
		const attempt = new AbortController();
		this.#attempt = attempt;
		try {
			this.stream = await this.#connectToInstance(attempt.signal);
		} catch (error) {
			if (attempt.signal.aborted) throw new Error(CLOSED_MESSAGE, { cause: error });
			// A Diplomat that has ended finds no instance any more.
			if (SpockError.is(error) && error.code === 'CLOSED') throw error;
			this.firstError = error as Error;
			this.stream = new Socket().destroy();
		}
		return this.stream as Socket;
	}

	/** ioredis asks with what `INFO` says, once the server is ready; false: it connects again. */
	override check(info: { readonly role?: string } | null | undefined): boolean {
		const { role } = this.#options;
		if (role === undefined || info?.role === undefined || info.role === role) return true;
		this.#failed = this.#lease?.address.instance;
		return false;
	}

	override disconnect(): void {
		this.#attempt.abort();
		super.disconnect();
	}

	/**
	 * The instance has left. What was sent is still answered; ioredis keeps what comes now, and connects again when the server
	 * has closed, or when the time for that is over.
	 */
	leave(): void {
		this.#dialling?.destroy(new Error('the instance has left the service'));
		super.disconnect();
	}

	async #connectToInstance(signal: AbortSignal): Promise<Socket> {
		const { target, connections, redis } = this.#options;
		const exclude = this.#failed === undefined ? undefined : new Set([this.#failed]);
		const lease = connections.add(await target.acquire(signal, exclude), this);
		this.#lease = lease;
		const { query, address } = lease;
		const socket = dial(address, target, redis);
		this.#dialling = socket;
		this.#endWith(socket, lease);
		try {
			await connected(socket, redis.tls === undefined ? 'connect' : 'secureConnect', this.#connectTimeoutMs, signal);
		} catch (error) {
			socket.destroy();
			this.#failed = address.instance;
			lease.end(outcomeOf(error) === 'cancelled' ? 'cancelled' : 'failure');
			throw instanceError(query, address, error);
		} finally {
			this.#dialling = undefined;
		}
		this.#expectAnswer(socket, lease);
		return socket;
	}

	#endWith(socket: Socket, lease: ConnectionLease): void {
		let isLost = false;
		socket.on('error', () => {
			isLost = true;
			if (lease.isConnecting) this.#failed = lease.address.instance;
		});
		socket.once('close', () => lease.end(isLost ? 'failure' : 'cancelled'));
	}

	/** A server that was asked and says nothing has failed, although it took the connection. */
	#expectAnswer(socket: Socket, lease: ConnectionLease): void {
		const timeoutMs = this.#connectTimeoutMs;
		const patienceMs = timeoutMs || TIMER_MS_MAX;
		const { bytesWritten } = socket;
		const check = (): void => {
			if (!lease.isConnecting) return;
			if (socket.bytesWritten === bytesWritten) timer = systemClock.setTimeout(check, patienceMs);
			else socket.destroy(instanceError(lease.query, lease.address, new Error(`no answer within ${timeoutMs} ms`)));
		};
		let timer = systemClock.setTimeout(check, patienceMs);
		socket.once('close', () => systemClock.clearTimeout(timer));
		// Not `once`, which would let the answer flow before ioredis listens.
		socket.prependOnceListener('data', () => {
			systemClock.clearTimeout(timer);
			this.#failed = undefined;
			lease.opened();
		});
	}
}

/** Begins a connection to an instance, in TLS if the Redis has options for it. */
function dial(address: ServiceAddress, target: ConnectionTarget, options: RedisConnectionOptions): Socket {
	const { family, tls } = options;
	const place = { host: address.host, port: address.port, ...(family !== undefined && { family }) };
	if (tls === undefined) return createConnection(place);
	const given = tls === true ? {} : tls;
	const name = target.servername(address, given.servername);
	const check = given.checkServerIdentity ?? checkServerIdentity;
	return connectTls({
		...given,
		...place,
		// Empty: none, as an address must not be asked for.
		servername: sniOf(name) ?? '',
		checkServerIdentity: (_host: string, certificate: PeerCertificate) => check(name, certificate),
	});
}

/** Waits until a socket is connected. Rejects with its error, when the time is over (0: never), or when the signal aborts. */
async function connected(socket: Socket, event: string, timeoutMs: number, signal: AbortSignal): Promise<void> {
	const late = (): unknown => socket.destroy(new Error(`no connection within ${timeoutMs} ms`));
	const timer = timeoutMs > 0 ? systemClock.setTimeout(late, timeoutMs) : undefined;
	try {
		await once(socket, event, { signal });
	} finally {
		systemClock.clearTimeout(timer);
	}
}
