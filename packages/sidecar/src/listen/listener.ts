import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import type { SocketAddress } from '@spock/protocol/node';

import type { TlsListen, TlsServerOptions } from './tls-server.ts';
import type { TokenCheck } from './tokens.ts';

/** Permissions of a socket: owner and group. */
export const DEFAULT_SOCKET_MODE = 0o660;

/** What may connect to an address. */
interface ListenAccess {
	/** Permissions of a socket. Default 0o660: owner and group. */
	readonly socketMode?: number;
	/** Makes the socket's directory, for this user alone, and refuses one that others may change. Default false. */
	readonly privateDirectory?: boolean;
	/** The flag that the address is from, for what errors say. Default `--socket`. */
	readonly flag?: string;
	/** Allows TCP addresses that other machines can reach. Default false. */
	readonly allowRemote?: boolean;
}

/** One address to listen at. */
export interface SidecarListen extends ListenAccess {
	readonly address: SocketAddress;
	/** Speaks TLS; for TCP. Default: none. */
	readonly tls?: TlsListen;
	/** Answers nothing before a hello with one of these tokens. Default: every client that can connect is answered. */
	readonly tokens?: TokenCheck;
}

/** Options of `listen`. */
export interface ListenOptions<S extends Duplex = Socket> extends ListenAccess {
	/** Connections that the kernel may hold before they are accepted. Default 4096. */
	readonly backlog?: number;
	/** Speaks TLS; for TCP. Default: none. */
	readonly tls?: Omit<TlsServerOptions, 'accept'>;
	/**
	 * Binds a unix domain socket beside its path, at `<path>.next`, until it is published: for a take-over. A process that is there already
	 * is taking over too, and this one is refused. Default false.
	 */
	readonly beside?: boolean;
	readonly accept: (socket: S) => void;
	/** A connection could not be accepted, for want of open files, say; later ones may be. Default: not reported. */
	readonly acceptFailed?: (error: Error) => void;
}

/** A bound address. */
export interface Listener {
	/** As people write it, with the port that the kernel gave. */
	readonly address: string;
	/** Accepts nothing more and removes the socket if it is still ours; connections live on. Idempotent. */
	close(): Promise<void>;
	/** What a take-over needs; a unix domain socket alone has it. */
	readonly place?: PublishedSocketPath;
}

/** Binds one address, and gives every connection to `accept`; see `listen`. */
export type Listen = (address: SocketAddress, options: ListenOptions<Duplex>) => Promise<Listener>;

/** The socket at a path. */
export type SocketPathState = 'ours' | 'restored' | 'taken';

/** The public name of a unix domain socket, which one process can take from another. */
export interface PublishedSocketPath {
	/** True if another process's socket is there. */
	isReplaced(): Promise<boolean>;
	/**
	 * Moves a socket that was bound beside its path onto it. `replace` replaces any socket there; otherwise the path must be free,
	 * as for any start. Rejects as `listen` does.
	 */
	publish(how: 'replace' | 'if free'): Promise<void>;
	/**
	 * Restores the socket if the one at the path is dead or missing. Resolves with what is there now: `ours`, as before; ours,
	 * `restored`; or `taken` by another process, which is left alone. Rejects if it cannot be restored.
	 */
	restore(): Promise<SocketPathState>;
}
