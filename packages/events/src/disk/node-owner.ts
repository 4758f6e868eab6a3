import { link, lstat, rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { SpockError } from '@spock/protocol';
import { assertSocketPathFits } from '@spock/protocol/node';

import type { LogOwner } from '../foundation/files.ts';
import { requirePrivate } from './private-directory.ts';

const SOCKET_NAME = 'owner.sock';
/** How long a process that may be hung has to take a connection; the kernel takes it for a living one. */
const PROBE_MS = 2000;
/** Claims of other processes at the same moment before this one gives up. */
const CLAIM_ATTEMPTS_MAX = 10;

/** How often, and how soon, it is looked again where no socket is. */
const LOOKS_MAX = 3;
const LOOK_AGAIN_MS = 10;

// Two logs in one process must not share a private name either.
let privateNames = 0;

interface Claim {
	readonly server: Server;
	readonly ino: number;
}

/**
 * The owner of a log is who listens at `owner.sock` in its directory: the kernel ends that with the process. The socket is bound by a
 * private name and linked to the public one, because Node removes the name that was bound when it closes, whosever it is by then.
 */
export class NodeOwner implements LogOwner {
	readonly #directory: string;
	readonly #path: string;
	#claim: Claim | undefined;

	constructor(directory: string) {
		this.#directory = directory;
		this.#path = join(directory, SOCKET_NAME);
	}

	async claim(from: 'nobody' | 'anyone'): Promise<void> {
		const name = `${this.#path}.${process.pid}-${++privateNames}`;
		assertFits(name, this.#path);
		await requirePrivate(this.#directory);
		await rm(name, { force: true });
		const server = await listen(name);
		try {
			// Not by the public name, which another process may take at once.
			const { ino } = await lstat(name);
			if (from === 'anyone') await rename(name, this.#path);
			else await this.#publish(name);
			this.#claim = { server, ino };
		} catch (error) {
			await close(server);
			throw error;
		} finally {
			await rm(name, { force: true });
		}
	}

	async isOurs(): Promise<boolean> {
		for (let look = 1; ; look++) {
			const ino = await inodeOf(this.#path);
			if (ino !== undefined || look === LOOKS_MAX) return this.#claim !== undefined && ino === this.#claim.ino;
			// Another process that clears a dead socket away may hold ours for a moment, and gives it back.
			await delay(LOOK_AGAIN_MS);
		}
	}

	async release(): Promise<void> {
		const claim = this.#claim;
		this.#claim = undefined;
		if (claim === undefined) return;
		// The name stays, as after a kill: between a look at it and its removal it may have become a successor's.
		await close(claim.server);
	}

	async #publish(name: string): Promise<void> {
		for (let attempt = 1; attempt <= CLAIM_ATTEMPTS_MAX; attempt++) {
			try {
				await link(name, this.#path);
				return;
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
			}
			const ino = await inodeOf(this.#path);
			if (ino === undefined) continue;
			if (await isListening(this.#path)) throw this.#taken();
			await this.#removeStale(`${name}.stale`, ino);
		}
		throw this.#taken();
	}

	/** By a rename, so that a process that claims it between our look and our move gets its name back. */
	async #removeStale(aside: string, ino: number): Promise<void> {
		try {
			await rename(this.#path, aside);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
			throw error;
		}
		if ((await inodeOf(aside)) !== ino) {
			await link(aside, this.#path).catch((error: NodeJS.ErrnoException) => {
				if (error.code !== 'EEXIST') throw error;
			});
		}
		await rm(aside, { force: true });
	}

	#taken(): SpockError {
		return new SpockError(
			'UNAVAILABLE',
			`another process has the log: it listens at ${this.#path}: stop it, or choose another directory`,
			{
				details: { path: this.#path },
			},
		);
	}
}

function assertFits(name: string, path: string): void {
	try {
		assertSocketPathFits(name, process.platform);
	} catch (cause) {
		const message = `the directory of the log is too long: the path of a socket must fit, ${path}: choose a shorter one`;
		throw new SpockError('UNAVAILABLE', message, { cause, details: { path } });
	}
}

function listen(path: string): Promise<Server> {
	return new Promise((resolve, reject) => {
		// Whoever connects only looks whether this process lives.
		const server = createServer((socket) => socket.destroy());
		server.once('error', reject);
		// It must not keep the process alive.
		server.unref();
		server.listen(path, () => {
			server.off('error', reject);
			// Accepting a probe may fail for want of descriptors: the prober is answered by the kernel all the same.
			server.on('error', () => undefined);
			resolve(server);
		});
	});
}

function close(server: Server): Promise<void> {
	return new Promise((resolve) => server.close(() => resolve()));
}

async function inodeOf(path: string): Promise<number | undefined> {
	try {
		return (await lstat(path)).ino;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
		throw error;
	}
}

/** A socket's file outlives a process that was killed; only a connection that is refused says so. */
function isListening(path: string): Promise<boolean> {
	return new Promise((resolve, reject) => {
		const probe = connect(path);
		const settle = (isTaken: boolean): void => {
			clearTimeout(timer);
			probe.destroy();
			resolve(isTaken);
		};
		const timer = setTimeout(() => settle(true), PROBE_MS);
		probe.once('connect', () => settle(true));
		probe.once('error', (error: NodeJS.ErrnoException) => {
			if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') settle(false);
			else if (error.code === 'EAGAIN') settle(true);
			else {
				clearTimeout(timer);
				reject(error);
			}
		});
	});
}
