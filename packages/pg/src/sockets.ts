import type { InstanceSocket } from './instance-socket.ts';
import type { PgConnection } from './pg-connection.ts';

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
