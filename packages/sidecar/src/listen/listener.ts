import { createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { formatAddress, type SocketAddress } from '@spock/protocol/node';

import { DEFAULT_BACKLOG } from '../foundation/limits.ts';
import { bind, closeServer } from './bind.ts';
import { isLoopback } from './is-loopback.ts';
import { createTlsServer, KEEP_ALIVE, type TlsServerOptions } from './tls-server.ts';
import { listenUnix } from './unix-listener.ts';

/** Options of {@link listen}. */
export interface ListenOptions<S extends Duplex = Socket> {
	/** Permissions of the socket. Default 0o660: owner and group. */
	readonly socketMode?: number;
	/** Makes the socket's directory, for this user alone, and refuses one that others may change. Default false. */
	readonly privateDirectory?: boolean;
	/** The flag that the address is from, for what errors say. Default `--socket`. */
	readonly flag?: string;
	/** Allows TCP addresses that other machines can reach. Default false. */
	readonly allowRemote?: boolean;
	/** Connections that the kernel may hold before they are accepted. Default 4096. */
	readonly backlog?: number;
	/** Speaks TLS; for TCP. Default: none. */
	readonly tls?: Omit<TlsServerOptions, 'accept'>;
	/**
	 * Binds a unix domain socket beside its path, at `<path>.next`, until it is published: for a take-over. Whoever stands
	 * there already is taking over too, and this one is refused. Default false.
	 */
	readonly beside?: boolean;
	readonly accept: (socket: S) => void;
	/** A connection could not be accepted, for want of open files, say; later ones may be. Default: nobody is told. */
	readonly acceptFailed?: (error: Error) => void;
}

/** A bound address. */
export interface Listener {
	/** As people write it, with the port that the kernel gave. */
	readonly address: string;
	/** Accepts nothing more and removes the socket if it is still ours; connections live on. Idempotent. */
	close(): Promise<void>;
	/** What a take-over needs; a unix domain socket alone has it. */
	readonly place?: PublicPlace;
}

/** Binds one address, and gives every connection to `accept`; see {@link listen}. */
export type Listen = (address: SocketAddress, options: ListenOptions<Duplex>) => Promise<Listener>;

/** What stands at a path. */
export type PlaceOutcome = 'ours' | 'restored' | 'taken';

/** The public name of a unix domain socket, which one process can take from another. */
export interface PublicPlace {
	/** True when somebody else's socket stands there. */
	isReplaced(): Promise<boolean>;
	/**
	 * Moves a socket that was bound beside its path onto it. `replace` takes the place of whatever socket is there;
	 * otherwise the place must be free, as for any start. Rejects as {@link listen} does.
	 */
	publish(how: 'replace' | 'if free'): Promise<void>;
	/**
	 * Takes the place back if the socket that stands there is dead, or none is there. What stands there now: `ours`, as before,
	 * ours `restored`, or it is `taken` by somebody who is left alone. Rejects if it cannot be taken back.
	 */
	restore(): Promise<PlaceOutcome>;
}

/**
 * Binds a unix domain socket or a TCP port. Rejects with an Error that says what is at the address and what to do: somebody
 * who answers, something that is no socket, a path that is too long, a directory that others may change.
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
		await bind(server, { ...address, backlog: options.backlog ?? DEFAULT_BACKLOG }, acceptFailed);
	} catch (error) {
		// Whoever waits until the port is free tries often: no timer may be left of each.
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
