import { isIP } from 'node:net';
import type { JetStreamManager } from '@nats-io/jetstream';
import type { MsgHdrs, NatsConnection } from '@nats-io/transport-node';

import { SpockError } from '@spock/protocol';
import { formatHostPort, messageOf, splitHostPort, withBrackets } from '@spock/protocol/internal';

import { orUnavailable } from '../../foundation/unavailable.ts';
import type { JetStreamSettings } from './jetstream-options.ts';

/** So a server that hangs is noticed within 20 s also where nothing is sent. */
const PING_MS = 10_000;
const PINGS_MAX = 2;
const DEFAULT_PORT = 4222;

/** The client library of NATS, which is loaded with the first connection. */
export async function loadNats(): Promise<
	readonly [typeof import('@nats-io/transport-node'), typeof import('@nats-io/jetstream')]
> {
	const [transport, jetstream] = await Promise.all([import('@nats-io/transport-node'), import('@nats-io/jetstream')]);
	return [exportsOf(transport), exportsOf(jetstream)];
}

/** Both are CommonJS: what Node gives by name stands in a bundle under `default` alone. */
function exportsOf<T extends object>(module: T): T {
	return 'default' in module && typeof module.default === 'object' ? (module.default as T) : module;
}

/** One connection, from its start to its end: it never comes back under the hands of who uses it. */
export interface NatsSession {
	readonly connection: NatsConnection;
	readonly streams: JetStreamManager['streams'];
	readonly consumers: JetStreamManager['consumers'];
	/** Empty headers of a message: the library is loaded with the first connection. */
	readonly newHeaders: () => MsgHdrs;
	readonly newInbox: () => string;
	/** Aborts at its end; the reason is a SpockError. */
	readonly ended: AbortSignal;
	/** Whether the server knows fast ingest: from 2.14 on. */
	readonly hasFastIngest: boolean;
	/** Whether a consumer may have several filters: from 2.10 on. */
	readonly hasFilters: boolean;
	/** Ends it: what is in flight is settled, and the next `open` connects anew. */
	end(error: SpockError): void;
}

/**
 * The connection to one of the servers, made when it is needed. nats.js never reconnects by itself here: what it would write meanwhile it keeps
 * without bound, and a batch that was begun at another connection is lost in any case. Whoever feeds tries again.
 */
export class NatsLink {
	readonly #settings: JetStreamSettings;
	#session: NatsSession | undefined;
	#opening: Promise<NatsSession> | undefined;
	/** The servers as they were told last; undefined if they never were. */
	#told: readonly string[] | undefined;
	#isClosed = false;

	constructor(settings: JetStreamSettings) {
		this.#settings = settings;
	}

	/** Rejects with UNAVAILABLE. */
	async open(): Promise<NatsSession> {
		if (this.#isClosed) throw closedError();
		if (this.#session !== undefined) return this.#session;
		this.#opening ??= this.#connect().finally(() => {
			this.#opening = undefined;
		});
		return this.#opening;
	}

	/** These are the servers now: a connection to one that has left is ended. */
	serversChanged(servers: readonly string[]): void {
		this.#told = servers;
		const session = this.#session;
		if (session === undefined) return;
		const server = withPort(session.connection.getServer());
		// Where none is known the registry may be wrong, and this one still answers.
		if (servers.length === 0 || servers.some((each) => oneForm(each) === oneForm(server))) return;
		session.end(new SpockError('UNAVAILABLE', `the NATS server ${server} has left; trying another`));
	}

	close(): void {
		this.#isClosed = true;
		this.#session?.end(closedError());
	}

	async #connect(): Promise<NatsSession> {
		const { timeoutMs } = this.#settings;
		const [servers, credentials, [transport, jetstream]] = await Promise.all([
			orUnavailable(this.#settings.servers),
			orUnavailable(this.#settings.credentials),
			loadNats(),
		]);
		if (servers.length === 0) throw new SpockError('UNAVAILABLE', 'there is no NATS server now');
		let connection: NatsConnection;
		try {
			connection = await transport.connect({
				...credentials,
				servers: servers.map((server) => (server.includes('://') ? withBrackets(server) : withPort(server))),
				name: `spock ${this.#settings.owner}`,
				timeout: timeoutMs,
				reconnect: false,
				ignoreClusterUpdates: true,
				pingInterval: PING_MS,
				maxPingOut: PINGS_MAX,
			});
		} catch (cause) {
			const message = `no NATS server of ${servers.length} can be reached: ${messageOf(cause)}`;
			throw new SpockError('UNAVAILABLE', message, { cause });
		}
		const manager = await jetstream.jetstreamManager(connection, { timeout: timeoutMs, checkAPI: false });
		const session = this.#begin(connection, manager, transport);
		if (this.#isClosed) session.end(closedError());
		// It may have left while it was connected to.
		else if (this.#told !== undefined) this.serversChanged(this.#told);
		session.ended.throwIfAborted();
		return session;
	}

	#begin(
		connection: NatsConnection,
		{ streams, consumers }: JetStreamManager,
		{ headers, createInbox }: typeof import('@nats-io/transport-node'),
	): NatsSession {
		const ending = new AbortController();
		const end = (error: SpockError): void => {
			if (ending.signal.aborted) return;
			if (this.#session === session) this.#session = undefined;
			ending.abort(error);
			// A server that hangs never lets it resolve; nobody waits for it.
			void connection.close();
		};
		const session: NatsSession = {
			connection,
			streams,
			consumers,
			newHeaders: () => headers(),
			newInbox: () => createInbox(),
			ended: ending.signal,
			hasFastIngest: isAtLeast(connection.info?.version, 2, 14),
			hasFilters: isAtLeast(connection.info?.version, 2, 10),
			end,
		};
		this.#session = session;
		void connection.closed().then((cause) => {
			end(new SpockError('UNAVAILABLE', 'the connection to the NATS server ended', { cause }));
		});
		return session;
	}
}

/** A fault of the store as a whole. */
export function storeError(what: string, cause: unknown): SpockError {
	if (SpockError.is(cause)) return cause;
	return new SpockError('UNAVAILABLE', `${what}: ${messageOf(cause)}`, { cause });
}

function closedError(): SpockError {
	return new SpockError('UNAVAILABLE', 'the store was closed');
}

function isAtLeast(version: string | undefined, major: number, minor: number): boolean {
	const [has = 0, hasMinor = 0] = (version ?? '').split('.').map(Number);
	return has > major || (has === major && hasMinor >= minor);
}

/** An address may be written in several forms, and nats.js gives one of IPv4 that is mapped to IPv6 as one of IPv4. */
function oneForm(server: string): string {
	const { host, port } = splitHostPort(withPort(server)) ?? { host: server, port: undefined };
	const address = isIP(host) === 4 ? `::ffff:${host}` : host;
	return `${isIP(address) === 6 && !address.includes('%') ? new URL(`http://[${address}]`).hostname : host.toLowerCase()}:${port}`;
}

function withPort(server: string): string {
	const text = server.replace(/^\w+:\/\//, '');
	const place = splitHostPort(text);
	return place === undefined ? text : formatHostPort({ host: place.host, port: place.port ?? DEFAULT_PORT });
}
