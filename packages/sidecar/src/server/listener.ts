import { chmod, link, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';

import { assertSocketPathFits, formatAddress, type SocketAddress } from '@spock/protocol/node';

import { DEFAULT_BACKLOG } from '../options.ts';
import { createTlsServer, type TlsServerOptions } from './tls-server.ts';

/** How long a probe of somebody else's socket may take. */
const PROBE_MS = 2000;

/** Options of {@link listen}. */
export interface ListenOptions {
	/** Permissions of the socket. Default 0o660: owner and group. */
	readonly socketMode?: number;
	/** Makes the socket's directory, for this user alone, and refuses one that others may change. Default false. */
	readonly privateDirectory?: boolean;
	/** Allows TCP addresses that other machines can reach. Default false. */
	readonly allowRemote?: boolean;
	/** Connections that the kernel may hold before they are accepted. Default 4096. */
	readonly backlog?: number;
	/** Speaks TLS; for TCP. Default: none. */
	readonly tls?: Omit<TlsServerOptions, 'accept'>;
	readonly accept: (socket: Socket) => void;
}

/** A bound address. */
export interface Listener {
	/** As people write it, with the port that the kernel gave. */
	readonly address: string;
	/** Accepts nothing more and removes the socket if it is still ours; connections live on. Idempotent. */
	close(): Promise<void>;
}

/**
 * Binds a unix domain socket or a TCP port. Rejects with an Error that says what is at the address and what to do: somebody
 * who answers, something that is no socket, a path that is too long, a directory that others may change.
 */
export function listen(address: SocketAddress, options: ListenOptions): Promise<Listener> {
	return 'path' in address ? listenUnix(address.path, options) : listenTcp(address, options);
}

async function listenTcp(address: { host: string; port: number }, options: ListenOptions): Promise<Listener> {
	if (!options.allowRemote && !isLoopback(address.host)) {
		throw new Error(
			`${formatAddress(address)} can be reached from other machines: listen on 127.0.0.1, or allow it with --listen-any, ` +
				'together with tls:// and --token-file',
		);
	}
	const { accept, tls } = options;
	const { server, stop } =
		tls === undefined
			? { server: createServer({ allowHalfOpen: true, noDelay: true }, accept), stop: () => undefined }
			: await createTlsServer({ ...tls, accept });
	await bind(server, { ...address, backlog: options.backlog ?? DEFAULT_BACKLOG });
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

// Two sidecars in one process must not share a private name either.
let privateNames = 0;

async function listenUnix(path: string, options: ListenOptions): Promise<Listener> {
	// server.close() unlinks the name it bound, even if that is another process's by then: so a private name is bound, and
	// the public one is a link that is removed only while it is ours.
	const privatePath = `${path}.${process.pid}-${++privateNames}`;
	assertSocketPathFits(privatePath, process.platform);
	if (options.privateDirectory) await makePrivateDirectory(dirname(path));
	// Asked first, because binding in a directory that does not exist fails with EACCES.
	await lstat(dirname(path)).catch((error: unknown) => {
		throw explain(error, path);
	});
	await rm(privatePath, { force: true });
	const server = createServer({ allowHalfOpen: true }, options.accept);
	const socketMode = options.socketMode ?? 0o660;
	const umask = process.umask(0o777 & ~socketMode);
	const bound = bind(server, { path: privatePath, backlog: options.backlog ?? DEFAULT_BACKLOG });
	process.umask(umask);
	try {
		await bound;
		await chmod(privatePath, socketMode);
		await publish(privatePath, path);
	} catch (error) {
		if (server.listening) await closeServer(server);
		await rm(privatePath, { force: true });
		throw explain(error, path);
	}
	const { ino } = await lstat(path);
	await rm(privatePath, { force: true });
	let closing: Promise<void> | undefined;
	return {
		address: path,
		close: () => {
			closing ??= removeIfOurs(path, ino).then(() => closeServer(server));
			return closing;
		},
	};
}

/** Tries before two sidecars that start at the same moment, over and over, are taken for a fault. */
const PUBLISH_ATTEMPTS_MAX = 10;

/** Links the private name to the public one. A stale socket is moved aside first; whatever else is there is left alone. */
async function publish(privatePath: string, path: string): Promise<void> {
	for (let attempt = 1; attempt <= PUBLISH_ATTEMPTS_MAX; attempt++) {
		try {
			await link(privatePath, path);
			return;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		}
		try {
			await clearStaleSocket(path, `${privatePath}.stale`);
		} catch (error) {
			// Another sidecar that starts now was quicker to clear it: look again at what is there.
			if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
		}
	}
	throw new Error(`other sidecars keep starting at ${path}`);
}

/** Removes the socket of a sidecar that has died. Throws if anything else is there. */
async function clearStaleSocket(path: string, aside: string): Promise<void> {
	const found = await lstat(path);
	if (!found.isSocket()) {
		throw new Error(`there is something at ${path} that is no socket: remove it, or choose another path`);
	}
	if (!(await isStale(path))) {
		throw new Error(
			`a process already listens at ${path}: stop it, or choose another path with --socket ` +
				`(\`sidecar status --socket ${path}\` tells what it is)`,
		);
	}
	await rename(path, aside);
	const moved = await lstat(aside);
	if (moved.ino !== found.ino) {
		// Another sidecar took the place between our look and our move: it gets its name back, and our next look finds it.
		await link(aside, path).catch((error: unknown) => {
			if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		});
	}
	await rm(aside, { force: true });
}

/** True only if nobody listens: a socket file outlives a process that was killed. */
function isStale(path: string): Promise<boolean> {
	return new Promise((resolve, reject) => {
		const probe = connect(path);
		const timer = setTimeout(() => {
			probe.destroy();
			resolve(false);
		}, PROBE_MS);
		probe.once('connect', () => {
			clearTimeout(timer);
			probe.destroy();
			resolve(false);
		});
		probe.once('error', (error: NodeJS.ErrnoException) => {
			clearTimeout(timer);
			if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(true);
			else if (error.code === 'EAGAIN') resolve(false);
			else reject(error);
		});
	});
}

async function makePrivateDirectory(directory: string): Promise<void> {
	await mkdir(directory, { recursive: true, mode: 0o700 });
	const found = await lstat(directory);
	const uid = process.getuid?.();
	if (!found.isDirectory() || (uid !== undefined && found.uid !== uid) || (found.mode & 0o022) !== 0) {
		throw new Error(
			`${directory} is not a directory that only this user may change: remove it, or choose another path with --socket`,
		);
	}
}

async function removeIfOurs(path: string, ino: number): Promise<void> {
	try {
		if ((await lstat(path)).ino === ino) await rm(path, { force: true });
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
	}
}

function bind(server: Server, where: { path?: string; host?: string; port?: number; backlog: number }): Promise<void> {
	return new Promise((resolve, reject) => {
		server.once('error', (error) => reject(explain(error, formatAddress(where as SocketAddress))));
		server.listen(where, () => resolve());
	});
}

function closeServer(server: Server): Promise<void> {
	return new Promise((resolve) => {
		// Called when the last connection is gone, which the life cycle waits for by itself: this only stops accepting.
		server.close();
		resolve();
	});
}

function explain(error: unknown, address: string): Error {
	const { code, message } = error as NodeJS.ErrnoException;
	const hints: Readonly<Record<string, string>> = {
		EADDRINUSE: 'another process listens there: stop it, or choose another address',
		EACCES: 'this user may not listen there: choose a path in a directory it may write to, with --socket',
		ENOENT: 'its directory does not exist: make it, or choose another path with --socket',
		EROFS: 'the file system is read-only: choose another path with --socket',
		EADDRNOTAVAIL: 'this machine does not have that address',
	};
	const hint = code === undefined ? undefined : hints[code];
	return hint === undefined
		? new Error(message, { cause: error })
		: new Error(`cannot listen at ${address}: ${hint}`, { cause: error });
}

function isLoopback(host: string): boolean {
	return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
