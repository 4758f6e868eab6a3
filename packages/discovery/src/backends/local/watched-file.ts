import { constants, type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

import type { Clock, TimerHandle } from '@spock/protocol/internal';

import { settledWithin } from '../../foundation/waiting.ts';

/** A disk that has not answered for this long is told as a failure; what it answers later is still read. */
export const DEFAULT_READ_MS_MAX = 5000;
/** A disk that hangs must not hold up the end of the process. */
const CLOSE_MS_MAX = 1000;

/** A file that is written in place is empty, then half there, then whole: it is read when it has been quiet for this. */
const QUIET_MS = 50;

/** Options of {@link WatchedFile}. */
export interface WatchedFileOptions {
	readonly file: string;
	/** How often it is looked at although nothing was heard of it, in milliseconds. */
	readonly pollMs: number;
	readonly clock: Clock;
	/** How long it may take to read it, in milliseconds. Default 5000. */
	readonly readMsMax?: number;
	/** It has changed, perhaps to what it was before. What this throws is told to `failed`. */
	readonly read: (text: string) => void;
	/** It could not be read, and `text` is null, or `read` has thrown. Not called after `close`. */
	readonly failed: (text: string | null, error: Error) => void;
}

/** A file that somebody else changes: read again each time, and never twice at once. */
export class WatchedFile {
	readonly #options: WatchedFileOptions;
	#stamp = '';
	#watcher: FSWatcher | undefined;
	#pollTimer: TimerHandle | undefined;
	#quietTimer: TimerHandle | undefined;
	#reading: Promise<void> | undefined;
	#closed = false;

	constructor(options: WatchedFileOptions) {
		this.#options = options;
	}

	/** What stands in it now. Rejects with an Error that names the file if it cannot be read. */
	async open(): Promise<string> {
		const { clock } = this.#options;
		const found = await settledWithin(clock, this.#readMsMax, readChanged(this.#options.file, ''));
		if (found === undefined) throw this.#late();
		this.#stamp = found.stamp;
		return found.text;
	}

	/** Follows its changes from now on, until `close`. */
	follow(): void {
		this.#listen(this.#options.file);
		this.#armPoll();
	}

	/** Reads the file once at a time; a change that comes while it is read is seen by the stamp at the next look. */
	look(): Promise<void> {
		this.#reading ??= this.#readIfChanged().finally(() => {
			this.#reading = undefined;
		});
		return this.#reading;
	}

	/** The next look reads it, whether it has changed or not. */
	forget(): void {
		this.#stamp = '';
	}

	async close(): Promise<void> {
		this.#closed = true;
		this.#watcher?.close();
		this.#options.clock.clearTimeout(this.#pollTimer);
		this.#options.clock.clearTimeout(this.#quietTimer);
		await settledWithin(this.#options.clock, CLOSE_MS_MAX, this.#reading ?? Promise.resolve());
	}

	/** Listens to the directory: files that are renamed into place, and links that are turned round, are seen only there. */
	#listen(file: string): void {
		try {
			this.#watcher = watch(dirname(file), { persistent: false }, (_event, name) => {
				if (name === null || name === basename(file) || name.startsWith('..')) this.#armQuiet();
			});
			// The directory is gone or cannot be watched any more: polling alone still sees every change.
			this.#watcher.on('error', () => this.#watcher?.close());
		} catch {
			// No watches left on this machine, or a file system without them: polling alone still sees every change.
			this.#watcher = undefined;
		}
	}

	#armQuiet(): void {
		const { clock } = this.#options;
		clock.clearTimeout(this.#quietTimer);
		if (this.#closed) return;
		this.#quietTimer = clock.setTimeout(() => void this.look(), QUIET_MS);
		this.#quietTimer.unref?.();
	}

	#armPoll(): void {
		const { clock, pollMs } = this.#options;
		this.#pollTimer = clock.setTimeout(() => {
			void this.look().finally(() => {
				if (!this.#closed) this.#armPoll();
			});
		}, pollMs);
		this.#pollTimer.unref?.();
	}

	async #readIfChanged(): Promise<void> {
		const { file, clock, read, failed } = this.#options;
		if (this.#closed) return;
		let text: string | null = null;
		// One look at a time, however long it takes: a disk that hangs would be given ever more to do.
		const timer = clock.setTimeout(() => {
			if (!this.#closed) failed(null, this.#late());
		}, this.#readMsMax);
		timer.unref?.();
		try {
			const found = await readChanged(file, this.#stamp);
			if (found === undefined || this.#closed) return;
			text = found.text;
			this.#stamp = found.stamp;
			read(text);
		} catch (error) {
			if (!this.#closed) failed(text, error as Error);
		} finally {
			clock.clearTimeout(timer);
		}
	}

	get #readMsMax(): number {
		return this.#options.readMsMax ?? DEFAULT_READ_MS_MAX;
	}

	#late(): Error {
		return new Error(`${this.#options.file} could not be read within ${this.#readMsMax} ms: its disk does not answer`);
	}
}

/** What stands in a file now, and its stamp, which tells two states of it apart; undefined if that is this one. Follows links. */
async function readChanged(file: string, known: ''): Promise<{ text: string; stamp: string }>;
async function readChanged(file: string, known: string): Promise<{ text: string; stamp: string } | undefined>;
async function readChanged(file: string, known: string): Promise<{ text: string; stamp: string } | undefined> {
	let handle: FileHandle | undefined;
	try {
		// A FIFO that nobody writes would hold up one of the few threads for files, and with it the end of the process.
		handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
		const stats = await handle.stat();
		if (!stats.isFile()) throw new Error('it is not a regular file');
		const stamp = `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
		return stamp === known ? undefined : { stamp, text: await handle.readFile('utf8') };
	} catch (cause) {
		const { code, message: said } = cause as NodeJS.ErrnoException;
		const message =
			code === 'ENOENT' ? `the services file ${file} does not exist` : `cannot read ${file}: ${code ?? said}`;
		throw new Error(message, { cause });
	} finally {
		await handle?.close();
	}
}
