import { join } from 'node:path';

import type { Files } from '../foundation/files.ts';

/** Deletions of a log's files, one after the other. A file that stays is removed, or read again, by the next start. */
export class FileRemovals {
	readonly #directory: string;
	readonly #files: Files;
	readonly #failed: (error: unknown) => void;
	#last: Promise<void> = Promise.resolve();

	constructor(directory: string, files: Files, failed: (error: unknown) => void) {
		this.#directory = directory;
		this.#files = files;
		this.#failed = failed;
	}

	remove(name: string): void {
		this.afterwards(() => this.#files.remove(join(this.#directory, name)));
	}

	/** What was removed stays removed, also after a loss of power. */
	sync(): void {
		this.afterwards(() => this.#files.syncDirectory(this.#directory));
	}

	/** Does something after all deletions so far. */
	afterwards(next: () => Promise<void>): void {
		this.#last = this.#last.then(next).catch(this.#failed);
	}
}
