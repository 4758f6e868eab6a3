import { createServer } from 'node:net';

import { formatAddress, type SocketAddress } from '@spock/protocol/node';

import { limitTable } from '../foundation/limits.ts';
import { bind, closeServer, isLoopback } from './bind.ts';
import type { Listener, ListenOptions } from './listener.ts';
import { createTlsServer, KEEP_ALIVE } from './tls-server.ts';
import { listenUnix } from './unix-listener.ts';

/**
 * Binds a unix domain socket or a TCP port. Rejects with an Error that says what is at the address and what to do: a process
 * that answers, a file that is not a socket, a path that is too long, a directory that others may change.
 */
export function listen(address: SocketAddress, options: ListenOptions): Promise<Listener> {
	return 'path' in address ? listenUnix(address.path, options) : listenTcp(address, options);
}

async function listenTcp(address: { host: string; port: number }, options: ListenOptions): Promise<Listener> {
	if (!options.allowRemote) refuseRemote(address);
	const { accept, acceptFailed = () => undefined, tls } = options;
	const { server, stop } =
		tls === undefined
			? {
					server: createServer({ allowHalfOpen: true, noDelay: true, ...KEEP_ALIVE }, accept),
					stop: () => undefined,
				}
			: await createTlsServer({ ...tls, accept });
	try {
		await bind(server, { ...address, backlog: options.backlog ?? limitTable.backlog.default }, acceptFailed);
	} catch (error) {
		// A caller that waits until the port is free tries often: no timer may be left of each.
		stop();
		throw error;
	}
	const bound = server.address();
	const port = typeof bound === 'object' && bound !== null ? bound.port : address.port;
	return {
		address: `${tls === undefined ? '' : 'tls://'}${formatAddress({ host: address.host, port })}`,
		close: () => {
			stop();
			return closeServer(server);
		},
	};
}

/** Throws an Error that says what to do if other machines can reach the address. */
export function refuseRemote(
	address: { readonly host: string; readonly port: number },
	hint: string = 'listen on 127.0.0.1, or allow it with --listen-any, together with tls:// and --token-file',
): void {
	if (isLoopback(address.host)) return;
	throw new Error(`${formatAddress(address)} can be reached from other machines: ${hint}`);
}
