import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { chmod, link, lstat, rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { dirname } from 'node:path';

import { assertPrivateDirectory, assertSocketPathFits, makeDirectory } from '@spock/protocol/node';

import { limitTable } from '../foundation/limits.ts';
import { bind, closeServer, DEFAULT_FLAG, explain } from './bind.ts';
import {
	DEFAULT_SOCKET_MODE,
	type Listener,
	type ListenOptions,
	type PublishedSocketPath,
	type SocketPathState,
} from './listener.ts';

/** How long a probe of another process's socket may take. */
const PROBE_MS = 2000;

// Two sidecars must not share a private name: not two of one process, nor two in pods, where both may be process 1.
const PRIVATE_PREFIX = randomBytes(3).toString('hex');
let privateNames = 0;

/** Binds a unix domain socket; see `listen`. */
export async function listenUnix(path: string, options: ListenOptions): Promise<Listener> {
	if (options.privateDirectory) await makePrivateDirectory(dirname(path));
	// Asked first, because binding in a directory that does not exist fails with EACCES.
	await lstat(dirname(path)).catch((error: unknown) => {
		throw explain(error, path, options.flag);
	});
	const next = `${path}.next`;
	// A take-over renames onto the path: what is not a socket must not be lost.
	if (options.beside) await assertReplaceable(path, options.flag);
	let at = options.beside ? next : path;
	let bound = await bindAndPublish(path, at, options);
	let closing: Promise<void> | undefined;
	let restoring: Promise<SocketPathState> | undefined;
	const restore = async (): Promise<SocketPathState> => {
		const left = await lstatIfThere(next);
		// By its inode: the next successor may have taken the name since.
		if (left?.isSocket() && (await isStale(next))) await removeIfOurs(next, left.ino);
		const found = await lstatIfThere(path);
		if (closing !== undefined || found?.ino === bound.ino) return 'ours';
		if (found !== undefined && !(found.isSocket() && (await isStale(path)))) return 'taken';
		// An unlinked socket has no name that could be linked again: another one is bound, beside the first.
		const first = bound;
		bound = await bindAndPublish(path, path, options);
		first.server.close();
		// Asked to close meanwhile: release what was just bound.
		if (closing !== undefined) await removeIfOurs(path, bound.ino).then(() => closeServer(bound.server));
		return 'restored';
	};
	const place: PublishedSocketPath = {
		isReplaced: async () => {
			const found = await lstatIfThere(path);
			return found?.isSocket() === true && found.ino !== bound.ino;
		},
		publish: async (how) => {
			if (how === 'replace') {
				await assertReplaceable(path, options.flag);
				// A successor that was taken for dead may have lost its name to another one.
				if ((await lstatIfThere(next))?.ino !== bound.ino) throw new Error(lostName(next));
				await rename(next, path);
			} else {
				await publish(next, path, alreadyListens(path, options.flag));
				await rm(next, { force: true });
			}
			at = path;
		},
		// One at a time: two would take each other's sockets for those of another process.
		restore: () => {
			restoring ??= restore().finally(() => {
				restoring = undefined;
			});
			return restoring;
		},
	};
	return {
		address: path,
		place,
		close: () => {
			closing ??= removeIfOurs(at, bound.ino).then(() => closeServer(bound.server));
			return closing;
		},
	};
}

/** A socket that listens under a name of its own, which no client knows. The caller closes it, and removes the name. */
export interface UnpublishedSocket {
	readonly server: Server;
	readonly ino: number;
	readonly name: string;
}

/** Binds a socket beside a path, under a name that no other socket has. */
export async function bindUnpublished(path: string, options: ListenOptions): Promise<UnpublishedSocket> {
	// server.close() unlinks the name it bound, even if that is another process's by then: so a private name is bound, and
	// the public one is a link that is removed only while it is ours.
	const name = `${path}.${PRIVATE_PREFIX}-${++privateNames}`;
	assertSocketPathFits(name, process.platform);
	await rm(name, { force: true });
	const server = createServer({ allowHalfOpen: true }, options.accept);
	const socketMode = options.socketMode ?? DEFAULT_SOCKET_MODE;
	const umask = process.umask(0o777 & ~socketMode);
	const where = { path: name, backlog: options.backlog ?? limitTable.backlog.default };
	const bound = bind(server, where, options.acceptFailed ?? (() => undefined));
	process.umask(umask);
	try {
		await bound;
		await chmod(name, socketMode);
		// Not from the public name, which another process may take at once.
		return { server, ino: (await lstat(name)).ino, name };
	} catch (error) {
		await discard({ server, name });
		throw explain(error, path, options.flag);
	}
}

/** Stops listening, and removes the name that it was bound by. */
export async function discard({ server, name }: Pick<UnpublishedSocket, 'server' | 'name'>): Promise<void> {
	if (server.listening) await closeServer(server);
	await rm(name, { force: true });
}

/** Rejects with an Error that says what to do if what stands at the path is not a socket. */
export async function assertReplaceable(path: string, flag: string = DEFAULT_FLAG): Promise<void> {
	const found = await lstatIfThere(path);
	if (found === undefined || found.isSocket()) return;
	const cause = Object.assign(new Error(`not a socket: ${path}`), { code: 'ENOTSOCK' });
	throw new Error(`${path} is not a socket: remove it, or choose another path with ${flag}`, { cause });
}

/** Binds a private name and links it to `at`, which others look at. */
async function bindAndPublish(path: string, at: string, options: ListenOptions): Promise<UnpublishedSocket> {
	const bound = await bindUnpublished(path, options);
	try {
		await publish(bound.name, at, at === path ? alreadyListens(path, options.flag) : takesOverToo(path));
	} catch (error) {
		await discard(bound);
		throw explain(error, path, options.flag);
	}
	await rm(bound.name, { force: true });
	return bound;
}

/** Tries before two sidecars that start at the same moment, over and over, are taken for a fault. */
const PUBLISH_ATTEMPTS_MAX = 10;

/** Links the private name to the public one. A stale socket is moved aside first; whatever else is there is left alone. */
export async function publish(privatePath: string, path: string, occupied: string): Promise<void> {
	for (let attempt = 1; attempt <= PUBLISH_ATTEMPTS_MAX; attempt++) {
		try {
			await link(privatePath, path);
			return;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
		}
		try {
			await clearStaleSocket(path, `${privatePath}.stale`, occupied);
		} catch (error) {
			// Another sidecar that starts now was quicker to clear it: look again at what is there.
			if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
		}
	}
	throw new Error(`other sidecars keep starting at ${path}: start only one there`);
}

/** Removes the socket of a sidecar that has died. Throws if anything else is there. */
async function clearStaleSocket(path: string, aside: string, occupied: string): Promise<void> {
	const found = await lstat(path);
	if (!found.isSocket()) {
		const message = `${path} exists and is not a socket: remove it, or choose another path`;
		throw Object.assign(new Error(message), { code: 'ENOTSOCK' });
	}
	if (!(await isStale(path))) {
		throw Object.assign(new Error(occupied), { code: 'EEXIST', path });
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

/** True only if no process listens: a socket file outlives a process that was killed. */
export function isStale(path: string): Promise<boolean> {
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
	await makeDirectory(directory);
	assertPrivateDirectory(directory, process.getuid?.());
}

export async function removeIfOurs(path: string, ino: number): Promise<void> {
	if ((await lstatIfThere(path))?.ino === ino) await rm(path, { force: true });
}

export async function lstatIfThere(path: string): Promise<Stats | undefined> {
	try {
		return await lstat(path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
}

function alreadyListens(path: string, flag: string = DEFAULT_FLAG): string {
	const taken = `a process already listens at ${path}: stop it`;
	if (flag !== DEFAULT_FLAG) return `${taken}, or choose another path with ${flag}`;
	return `${taken}, take its place with --take-over, or choose another path with --socket`;
}

function lostName(next: string): string {
	return `the socket at ${next} was removed or replaced by another process: start again`;
}

function takesOverToo(path: string): string {
	return `another process is taking over ${path} at this moment: wait until it is done`;
}
