import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { Files } from '../foundation/files.ts';
import { defaultFreeBytesMin } from './log-options.ts';

/** How often a file system that is too full is looked at again. */
const LOOK_MS = 1000;

interface LogSpaceOptions {
	readonly directory: string;
	readonly files: Files;
	readonly clock: Clock;
	readonly bytesMax: number;
	readonly freeBytesMin: number | undefined;
	/** The free bytes have been looked at again. */
	readonly changed: () => void;
	/** They could not be. */
	readonly failed: (error: unknown) => void;
}

/** How much the log may still take: by its own limit, and by what the file system has left. */
export class LogSpace {
	readonly #options: LogSpaceOptions;
	#free: { readonly bytes: number; readonly bytesMin: number } | undefined;
	#timer: TimerHandle | undefined;
	#isClosed = false;

	constructor(options: LogSpaceOptions) {
		this.#options = options;
	}

	/** Why a log of this size has no room; undefined if it has. */
	lack(bytes: number): string | undefined {
		const { bytesMax } = this.#options;
		if (bytes >= bytesMax) return `the log is full: it has ${bytes} bytes, and may have ${bytesMax}`;
		if (this.#free === undefined || this.#free.bytes >= this.#free.bytesMin) return undefined;
		return `the disk is full: ${this.#free.bytes} bytes are left, and ${this.#free.bytesMin} must stay free (--events-free-bytes-min)`;
	}

	/** Looks at the file system; again and again while it is too full. */
	async look(): Promise<void> {
		const { directory, files, clock, freeBytesMin, changed, failed } = this.#options;
		clock.clearTimeout(this.#timer);
		try {
			const { freeBytes, totalBytes } = await files.space(directory);
			this.#free = { bytes: freeBytes, bytesMin: freeBytesMin ?? defaultFreeBytesMin(totalBytes) };
		} catch (error) {
			failed(error);
		}
		if (this.#isClosed) return;
		changed();
		if (this.#free === undefined || this.#free.bytes >= this.#free.bytesMin) return;
		clock.clearTimeout(this.#timer);
		this.#timer = clock.setTimeout(() => void this.look(), LOOK_MS);
		this.#timer.unref?.();
	}

	close(): void {
		this.#isClosed = true;
		this.#options.clock.clearTimeout(this.#timer);
	}
}
