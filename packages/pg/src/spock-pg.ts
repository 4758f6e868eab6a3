import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, type PeerCertificate } from 'node:tls';

import type { ServiceAddress } from '@spock/client';
import { type ConnectionTarget, InstanceConnections, sniOf } from '@spock/client/integrations';

import { InstanceSocket, keepSocket } from './instance-socket.ts';
import { resolvePgOptions, type SpockPgOptions } from './options.ts';
import type { PgConnection, PgStreamConfig } from './pg-connection.ts';

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
	const { target, leaveTimeoutMs } = resolvePgOptions(options);
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
