import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { StateFileError } from './state-file.ts';

/** Longest file that is read. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** Concurrent reads: queries that start together must not use up the process's file descriptors. */
const READS_MAX = 16;
/** A temporary file this old belongs to a process that has died. */
const TEMPORARY_AGE_MS = 60_000;
const TEMPORARY = '.tmp';

/** The files of a state directory: written whole or not at all, read only by this user. */
export class StateDirectory {
	readonly path: string;
	#reads = 0;
	readonly #waiting: (() => void)[] = [];

	constructor(path: string) {
		this.path = path;
	}

	/** Creates the directory if necessary, and removes temporary files of dead processes. Returns the names of its files, with their bytes. */
	async prepare(wallNowMs: number): Promise<Map<string, number>> {
		await makeDirectory(this.path);
		const names = await readdir(this.path);
		for (const name of names.filter((one) => one.endsWith(TEMPORARY))) {
			const { mtimeMs } = await stat(join(this.path, name));
			if (wallNowMs - mtimeMs > TEMPORARY_AGE_MS) await rm(join(this.path, name), { force: true });
		}
		const files = new Map<string, number>();
		for (const name of names.filter((one) => one.endsWith('.json'))) {
			// Another process may have removed it.
			const { size } = (await stat(join(this.path, name)).catch(() => undefined)) ?? {};
			if (size !== undefined) files.set(name, size);
		}
		return files;
	}

	/** The text of a file; undefined if it does not exist. Throws a StateFileError for a file that is not ours, or a system error. */
	async read(name: string): Promise<string | undefined> {
		if (this.#reads >= READS_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
		this.#reads++;
		try {
			return await this.#read(join(this.path, name));
		} finally {
			this.#reads--;
			this.#waiting.shift()?.();
		}
	}

	/** Replaces a file atomically: a reader, also after a crash, gets the old content or the new one. */
	async write(name: string, text: string): Promise<void> {
		const temporary = join(this.path, `.${name}.${randomUUID()}${TEMPORARY}`);
		try {
			const file = await open(temporary, 'wx', 0o600);
			try {
				await file.writeFile(text);
				await file.sync();
			} finally {
				await file.close();
			}
			await rename(temporary, join(this.path, name));
		} catch (error) {
			await rm(temporary, { force: true }).catch(() => undefined);
			throw error;
		}
	}

	/** Removes a file, if it exists. */
	async remove(name: string): Promise<void> {
		await rm(join(this.path, name), { force: true });
	}

	/** Makes the renames since the last call survive a loss of power. */
	async sync(): Promise<void> {
		const directory = await open(this.path, 'r');
		try {
			await directory.sync();
		} finally {
			await directory.close();
		}
	}

	async #read(path: string): Promise<string | undefined> {
		// Neither follows a link nor blocks on a pipe in the place of the file.
		const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
		let file: Awaited<ReturnType<typeof open>>;
		try {
			file = await open(path, flags);
		} catch (error) {
			const { code } = error as NodeJS.ErrnoException;
			if (code === 'ENOENT') return undefined;
			if (code === 'ELOOP') throw new StateFileError('foreign', 'it is a symbolic link');
			throw error;
		}
		try {
			const { uid, size } = await this.#regularStat(file);
			const own = process.getuid?.();
			if (own !== undefined && uid !== own) throw new StateFileError('foreign', `it belongs to the user ${uid}`);
			if (size > FILE_BYTES_MAX) throw new StateFileError('foreign', `it is longer than ${FILE_BYTES_MAX} bytes`);
			// The length is known, so one read suffices; readFile would look for the length and the end again.
			const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(size), 0, size, 0);
			return buffer.toString('utf8', 0, bytesRead);
		} finally {
			await file.close();
		}
	}

	async #regularStat(file: Awaited<ReturnType<typeof open>>): Promise<{ uid: number; size: number }> {
		const found = await file.stat();
		if (!found.isFile()) throw new StateFileError('foreign', 'it is not a regular file');
		return found;
	}
}

/**
 * Creates a directory and its parents. Not Node's `recursive`, which retries for ever where the system returns ENOENT for an existing
 * directory, as below /proc.
 */
async function makeDirectory(path: string): Promise<void> {
	try {
		await mkdir(path, { mode: 0o700 });
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === 'EEXIST') return;
		if (code !== 'ENOENT' || dirname(path) === path) throw error;
		await makeDirectory(dirname(path));
		await mkdir(path, { mode: 0o700 });
	}
}
