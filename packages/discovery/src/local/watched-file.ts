import { type FSWatcher, watch } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** A file that is written in place is empty, then half there, then whole: it is read when it has been quiet for this. */
const QUIET_MS = 50;

/** Options of {@link WatchedFile}. */
export interface WatchedFileOptions {
	readonly file: string;
	/** How often it is looked at although nothing was heard of it, in milliseconds. */
	readonly pollMs: number;
	readonly clock: Clock;
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
		const { file } = this.#options;
		this.#stamp = await stampOf(file);
		return readFile(file, 'utf8');
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
		await this.#reading;
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
		const { file, read, failed } = this.#options;
		if (this.#closed) return;
		let text: string | null = null;
		try {
			const stamp = await stampOf(file);
			if (stamp === this.#stamp) return;
			text = await readFile(file, 'utf8');
			if (this.#closed) return;
			this.#stamp = stamp;
			read(text);
		} catch (error) {
			if (!this.#closed) failed(text, error as Error);
		}
	}
}

/** Tells two states of a file apart; follows links. */
async function stampOf(file: string): Promise<string> {
	try {
		const { ino, size, mtimeMs, ctimeMs } = await stat(file);
		return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
	} catch (cause) {
		const { code } = cause as NodeJS.ErrnoException;
		const message = code === 'ENOENT' ? `there is no services file at ${file}` : `cannot read ${file}: ${code}`;
		throw new Error(message, { cause });
	}
}
