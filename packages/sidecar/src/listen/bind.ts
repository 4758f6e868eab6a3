import { BlockList, isIP, type Server } from 'node:net';

import { formatAddress, type SocketAddress } from '@spock/protocol/node';

/** All addresses of both families: https://nodejs.org/api/net.html#serverlistenport-host-backlog-callback */
const EVERY_ADDRESS = '::';
/** What listening at it fails with on a machine without IPv6. */
const NO_IPV6: ReadonlySet<unknown> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EPROTONOSUPPORT']);

/**
 * Starts to listen; at `::` on a machine without IPv6 at `0.0.0.0`, as Node does without a host. Rejects with an Error that names the remedy. Once it listens, `acceptFailed` is called for each connection that
 * could not be accepted; the server goes on.
 */
export function bind(
	server: Server,
	where: { path?: string; host?: string; port?: number; backlog?: number },
	acceptFailed: (error: Error) => void,
): Promise<void> {
	let { host } = where;
	return new Promise((resolve, reject) => {
		const onError = (error: NodeJS.ErrnoException): void => {
			if (host === EVERY_ADDRESS && NO_IPV6.has(error.code)) {
				host = '0.0.0.0';
				server.once('error', onError);
				server.listen({ ...where, host });
				return;
			}
			server.off('listening', onListening);
			reject(explain(error, formatAddress(where as SocketAddress)));
		};
		const onListening = (): void => {
			server.off('error', onError);
			// Never removed: an unhandled error ends the process, and one failed accept is no reason for that.
			server.on('error', acceptFailed);
			resolve();
		};
		server.once('error', onError);
		server.once('listening', onListening);
		server.listen(where);
	});
}

/** Stops accepting. */
export function closeServer(server: Server): Promise<void> {
	return new Promise((resolve) => {
		// Called when the last connection is gone, which the life cycle waits for by itself: this only stops accepting.
		server.close();
		resolve();
	});
}

/** The flag that most paths are from. */
export const DEFAULT_FLAG = '--socket';

/** A system error of listening as people need it: what is wrong at the address, and what to do. */
export function explain(error: unknown, address: string, flag: string = DEFAULT_FLAG): Error {
	const { code, message } = error as NodeJS.ErrnoException;
	const hints: Readonly<Record<string, string>> = {
		EADDRINUSE: 'another process listens there: stop it, or choose another address',
		EACCES: `this user may not listen there: choose a path in a directory it may write to, with ${flag}`,
		ENOENT: `its directory does not exist: create it, or choose another path with ${flag}`,
		EROFS: `the file system is read-only: choose another path with ${flag}`,
		EADDRNOTAVAIL: 'this machine does not have that address',
	};
	const hint = code === undefined ? undefined : hints[code];
	return hint === undefined
		? new Error(message, { cause: error })
		: new Error(`cannot listen at ${address}: ${hint}`, { cause: error });
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** True for a host that only this machine can reach; an address of IPv4 may be mapped to one of IPv6. */
export function isLoopback(host: string): boolean {
	const address = host.replace(/%.*$/, '');
	const family = isIP(address);
	return family === 0 ? host === 'localhost' : loopback.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** An address as people know it: one of IPv4 through a socket of IPv6 is one of IPv4. */
export function plainAddress(address: string): string {
	return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
