import type { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

import { type ServiceAddress, SpockError } from '@spock/client';
import {
	type ConnectionLease,
	type ConnectionTarget,
	failedInstances,
	type InstanceConnections,
	instanceError,
} from '@spock/client/integrations';
import { setImmediate, systemClock, type TimerHandle } from '@spock/protocol/internal';

/** Length, code, process and key (https://www.postgresql.org/docs/current/protocol-message-formats.html, CancelRequest). */
const CANCEL_REQUEST_BYTES = 16;

/** What the sockets of one service share. */
export interface InstanceSocketOptions {
	readonly target: ConnectionTarget;
	readonly connections: InstanceConnections<InstanceSocket>;
	readonly leaveTimeoutMs: number;
}

/**
 * The socket of one pg connection. Where pg tells it to connect, it asks for an instance and connects there. It knows from
 * pg's events when the server is ready, and when no query and no transaction is open.
 */
export class InstanceSocket extends Socket {
	/** The pool of the connection, if that is followed. */
	pool: FollowedPool | undefined;
	readonly #options: InstanceSocketOptions;
	readonly #pg: PgConnection;
	readonly #lookup = new AbortController();
	/** Instances that a surrounding `retry` has seen fail. */
	readonly #failed: Set<string> | undefined;
	#lease: ConnectionLease | undefined;
	#isInTls = false;
	/** The server has spoken as one of PostgreSQL: from now on a mistake may be the app's. */
	#hasAnswered = false;
	/** pg has ended it, before any answer. */
	#isEnded = false;
	#isLeaving = false;
	#cutError: SpockError | undefined;
	#leaveTimer: TimerHandle | undefined;
	/** Bytes that were written when the server was last ready, outside of a transaction; undefined while it is not. */
	#idleBytes: number | undefined;

	constructor(pg: PgConnection, options: InstanceSocketOptions) {
		super();
		this.#options = options;
		this.#failed = failedInstances(options.target.query);
		this.#pg = pg;
		// They come before pg's own listeners: nothing of the next query has been written yet.
		pg.on('readyForQuery', ({ status }: { readonly status: string }) => this.#ready(status));
		pg.on('errorMessage', (message: PgErrorMessage) => this.#refused(message));
		pg.on('error', (error: Error) => this.#broken(error));
		pg.once('sslconnect', () => {
			this.#isInTls = true;
		});
		for (const method of ['CleartextPassword', 'MD5Password', 'SASL']) {
			pg.once(`authentication${method}`, () => {
				this.#hasAnswered = true;
			});
		}
	}

	/** True once the instance has left the snapshot: the connection must end. */
	get isLeaving(): boolean {
		return this.#isLeaving;
	}

	/** True when no query is under way and no transaction is open. */
	get isIdle(): boolean {
		return this.#idleBytes !== undefined && this.#pg.stream.bytesWritten === this.#idleBytes;
	}

	/** Where it is connected to. Throws before it is. */
	get instance(): ServiceAddress {
		if (this.#lease === undefined) throw new Error('not connected to an instance yet');
		return this.#lease.address;
	}

	/** Connects to an instance, wherever pg thinks that its server is. */
	override connect(): this {
		// What is written meanwhile waits, as while a name is looked up (`Socket#connecting` is a plain property).
		(this as { connecting: boolean }).connecting = true;
		void this.#connect();
		return this;
	}

	override end(...args: unknown[]): this {
		// The stream itself calls this when the server has closed its side.
		if (!this.readableEnded) this.#isEnded = true;
		return super.end(...(args as []));
	}

	/** The instance has left: ends now if it is idle, else after its query or transaction, or when the time is over. */
	leave(): void {
		this.#isLeaving = true;
		if (this.pool !== undefined) this.pool.retire();
		else this.#endIfIdle();
		systemClock.clearTimeout(this.#leaveTimer);
		this.#leaveTimer = systemClock.setTimeout(() => this.#cut(), this.#options.leaveTimeoutMs);
		this.#leaveTimer.unref?.();
	}

	override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
		systemClock.clearTimeout(this.#leaveTimer);
		this.#lookup.abort();
		const failure = this.#failure(error);
		this.#end(failure === null || failure === this.#cutError ? 'cancelled' : 'failure');
		super._destroy(failure, (closed) => {
			// The stream over this one reports the cause of a failed handshake first.
			if (this.#isInTls) setImmediate(callback, closed);
			else callback(closed);
		});
	}

	async #connect(): Promise<void> {
		const { target, connections } = this.#options;
		try {
			const lease = await target.acquire(this.#lookup.signal, this.#failed);
			if (this.destroyed) return lease.release('cancelled');
			this.#lease = connections.add(lease, this);
			super.connect({ host: lease.address.host, port: lease.address.port });
		} catch (error) {
			this.destroy(error as Error);
		}
	}

	/** What the end of the connection means: an error that names the service until the server was ready. */
	#failure(error: Error | null): Error | null {
		const lease = this.#lease;
		if (lease === undefined) return error ?? (this.#isEnded ? null : this.#lookupError());
		if (!lease.isConnecting || this.#isEnded) return error;
		// A request to cancel a query gets no answer.
		if (error === null && this.bytesWritten === CANCEL_REQUEST_BYTES) return null;
		if (error instanceof SpockError) return error;
		return instanceError(
			lease.query,
			lease.address,
			error ?? new Error('the connection ended before the server was ready'),
		);
	}

	#lookupError(): SpockError {
		const { service } = this.#options.target.query;
		const message = `${JSON.stringify(service)}: the connection attempt ended before an instance was found`;
		return new SpockError('TIMEOUT', message, { details: { service } });
	}

	#leftError(what: string): SpockError {
		const { query, address } = this.#lease as ConnectionLease;
		const { instance, host, port } = address;
		const message = `the instance ${JSON.stringify(instance)} of ${JSON.stringify(query.service)} has left; its connection ${what}`;
		return new SpockError('DISCONNECTED', message, { details: { service: query.service, instance, host, port } });
	}

	#ready(status: string): void {
		this.#hasAnswered = true;
		this.#lease?.opened();
		this.#idleBytes = status === 'I' ? this.#pg.stream.bytesWritten : undefined;
		// pg may write its next query in this tick; a pool hands the connection on in it.
		if (this.#isLeaving) setImmediate(() => this.#endIfIdle());
	}

	/** What a server says before it is ready shows that it is there, unless it says that it cannot serve. */
	#refused(message: PgErrorMessage): void {
		this.#hasAnswered = true;
		if (this.#lease?.isConnecting !== true) return;
		if (isServerTrouble(message)) this.#end('failure');
		else this.#lease.opened();
	}

	/** pg passes only the first error to its client: the one that names the service. */
	#broken(error: Error): void {
		const lease = this.#lease;
		if (lease === undefined || this.#hasAnswered || error instanceof SpockError) return;
		this.#end('failure');
		this.#pg.emit('error', instanceError(lease.query, lease.address, error));
	}

	#end(outcome: 'failure' | 'cancelled'): void {
		const lease = this.#lease;
		if (lease === undefined) return;
		if (outcome === 'failure' && lease.isConnecting) this.#failed?.add(lease.address.instance);
		lease.end(outcome);
	}

	/** The time for its work is over. One that says good-bye already is closed without an error. */
	#cut(): void {
		if (this.pool !== undefined && !this.#pg.stream.writableEnded) {
			// Of one that was checked out pg would emit an error that the app cannot expect: its query under way, or its next one, rejects.
			this.pool.client.on('error', () => undefined);
			if (this.isIdle) return void this.pool.client.end();
		}
		if (!this.#pg.stream.writableEnded) this.#cutError = this.#leftError('was closed after leaveTimeoutMs');
		this.destroy(this.#cutError);
	}

	/** Without a pool that retires it; pg's client learns why, before it learns that the connection has ended. */
	#endIfIdle(): void {
		if (this.pool !== undefined || !this.isIdle || this.#pg.stream.writableEnded || this.destroyed) return;
		this.#pg.emit('error', this.#leftError('was idle and was closed'));
		this.#pg.end();
	}
}

const sockets = new WeakMap<object, InstanceSocket>();

/** Remembers the socket of a pg connection. In TLS it is no longer the connection's stream. */
export function keepSocket(connection: PgConnection, socket: InstanceSocket): void {
	sockets.set(connection, socket);
}

/** The socket of a pg client; undefined if it was not made by `spockPg`. */
export function socketOf(client: object): InstanceSocket | undefined {
	const { connection } = client as { readonly connection?: object };
	return connection && sockets.get(connection);
}

/** What is used of pg's Client. */
export interface ClientLike extends EventEmitter {
	end(): Promise<void>;
}

/** The pool that a connection belongs to, as far as the connection needs it. */
export interface FollowedPool {
	/** The pg client of the connection. */
	readonly client: ClientLike;
	/** Ends the idle connections whose instance has left, this one among them. */
	readonly retire: () => void;
}

/**
 * What is used of pg's Connection. pg calls the `stream` option as a method of it, before anybody listens to it
 * (https://github.com/brianc/node-postgres/blob/master/packages/pg/lib/connection.js).
 */
export interface PgConnection extends EventEmitter {
	/** The stream that was made; in TLS, later, the one over it. */
	readonly stream: Duplex & { readonly bytesWritten: number };
	/** Says good-bye to the server, and closes. */
	end(): void;
}

/** What pg gives the `stream` option. The object is made for one connection, and read after the stream was made. */
export interface PgStreamConfig {
	ssl?: boolean | ConnectionOptions;
}

/** An error that the server sent, with its SQLSTATE in `code`. */
interface PgErrorMessage {
	readonly code?: unknown;
}

/**
 * True for what a server says that cannot be used now, whoever asks: insufficient resources, too many connections, starting,
 * stopping (https://www.postgresql.org/docs/current/errcodes-appendix.html, classes 53 and 57P0x).
 */
function isServerTrouble({ code }: PgErrorMessage): boolean {
	return typeof code === 'string' && (code.startsWith('53') || /^57P0[1-3]$/.test(code));
}
