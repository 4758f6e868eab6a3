import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, type PeerCertificate } from 'node:tls';

import type { ServiceAddress } from '@spock/client';
import {
	CONNECTION_TARGET_OPTIONS,
	ConnectionTarget,
	type ConnectionTargetOptions,
	InstanceConnections,
	sniOf,
} from '@spock/client/integrations';
import { durationMsOption, knownMembers } from '@spock/protocol/internal';

import {
	type ClientLike,
	InstanceSocket,
	keepSocket,
	type PgConnection,
	type PgStreamConfig,
	socketOf,
} from './instance-socket.ts';

/** How long a connection may go on with its query or transaction once its instance has left, in milliseconds. */
export const DEFAULT_LEAVE_TIMEOUT_MS = 10_000;

/** Options of `spockPg`. */
export interface SpockPgOptions extends ConnectionTargetOptions {
	/**
	 * How long a connection may go on with its query or transaction once its instance has left the snapshot, in
	 * milliseconds; then it is cut. 0: at once. Default 10,000.
	 */
	readonly leaveTimeoutMs?: number;
}

/**
 * An address that leads nowhere (RFC 6666), for pg's `host`: pg would take PGHOST or localhost, ask that name of the TLS
 * server, and a client that does not know the `stream` option would connect there.
 */
const NOWHERE = '100::';

/** What goes into the options of a pg Client or Pool. */
export interface SpockPgConfig {
	readonly host: string;
	/** Makes the stream of one connection. */
	readonly stream: (this: unknown, config?: PgStreamConfig) => Socket;
}

/**
 * Options for a Client or Pool of pg, whose connections then go to an instance of a service, each to the one that the
 * Diplomat picks: `new Pool({ ...spockPg({ diplomat, service: 'orders-db', tags: ['primary'] }), user, database })`. Call it
 * once for each pool. Connections to an instance that leaves the snapshot end; see `followPool`.
 *
 * Throws a TypeError or RangeError naming the option that is wrong, or BAD_REQUEST for a wrong name. Later a connection
 * fails as `diplomat.acquire` does, or with UNAVAILABLE, which names the service and the instance and has the cause.
 */
export function spockPg(options: SpockPgOptions): SpockPgConfig {
	knownMembers('option', options, [...CONNECTION_TARGET_OPTIONS, 'leaveTimeoutMs']);
	const { leaveTimeoutMs = DEFAULT_LEAVE_TIMEOUT_MS } = options;
	const target = new ConnectionTarget(options);
	durationMsOption('leaveTimeoutMs', leaveTimeoutMs, 0);
	const connections = new InstanceConnections<InstanceSocket>({
		diplomat: target.diplomat,
		leave: (socket) => socket.leave(),
	});
	const shared = { target, connections, leaveTimeoutMs };
	return {
		host: NOWHERE,
		stream(config) {
			if (!(this instanceof EventEmitter))
				throw new TypeError('spockPg needs pg 8, which calls stream as a method of its connection');
			const pg = this as PgConnection;
			const socket = new InstanceSocket(pg, shared);
			keepSocket(pg, socket);
			if (config?.ssl) config.ssl = tlsOfInstance(config.ssl, target, () => socket.instance);
			return socket;
		},
	};
}

/**
 * TLS options for one connection, where the server is known only once the connection is made: pg copies them right before
 * the handshake. pg itself would take its own `host` for the server's name.
 */
function tlsOfInstance(
	ssl: true | ConnectionOptions,
	target: ConnectionTarget,
	address: () => ServiceAddress,
): ConnectionOptions {
	const given = ssl === true ? {} : ssl;
	const name = (): string => target.servername(address(), given.servername);
	const check = given.checkServerIdentity ?? checkServerIdentity;
	return Object.defineProperties({ ...given } as ConnectionOptions, {
		host: { enumerable: true, get: name },
		servername: { enumerable: true, get: () => sniOf(name()) },
		// A host in a connection string goes before both; the certificate must be the instance's all the same.
		checkServerIdentity: {
			enumerable: true,
			value: (_host: string, certificate: PeerCertificate) => check(name(), certificate),
		},
		...('key' in given && { key: { enumerable: false, value: given.key } }),
	});
}

/** What is used of pg's Pool. */
export interface PoolLike extends EventEmitter {
	readonly idleCount: number;
	connect(): Promise<{ release(): void }>;
}

/**
 * Lets a pool retire its connections to an instance that has left by itself: idle ones at once, those in use when they are
 * released, or when `leaveTimeoutMs` is over. Without it such a connection ends as when its server closes it, with an `error` event of
 * the pool, or of the client that is checked out. Call it right after the pool was made; it returns the pool.
 */
export function followPool<P extends PoolLike>(pool: P): P {
	let isSweeping = false;
	const sweep = (): void => {
		if (isSweeping) return;
		isSweeping = true;
		void Promise.resolve().then(() => {
			isSweeping = false;
			// To take the idle ones out and give them back is the only way to each that a pool offers.
			for (let left = pool.idleCount; left > 0; left--) {
				pool.connect().then(
					(client) => client.release(),
					// The pool was ended, or another caller was faster: what is in use is retired when it is released.
					() => undefined,
				);
			}
		});
	};
	pool.on('connect', (client: ClientLike) => {
		const socket = socketOf(client);
		if (socket === undefined) return;
		socket.pool = { client, retire: sweep };
		if (socket.isLeaving) socket.leave();
	});
	// It comes before the pool looks whether the client can be used again.
	pool.on('release', (_error: unknown, client: ClientLike) => {
		const socket = socketOf(client);
		if (socket?.isLeaving === true && socket.isIdle) void client.end();
	});
	return pool;
}
