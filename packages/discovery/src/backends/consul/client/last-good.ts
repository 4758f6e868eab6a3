import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';

/** What a {@link LastGood} needs. */
export interface LastGoodOptions<T> {
	/** For messages: `ACL token`. */
	readonly what: string;
	/** Where it is read. */
	readonly files: readonly string[];
	readonly onEvent: DiscoveryListener | undefined;
	/** Whether nothing has changed. Default: by identity. */
	readonly isSame?: (before: T, now: T) => boolean;
}

/**
 * The content of files that others replace now and then: while they are missing or invalid, the last good content stays in force.
 * Each new fault is reported once, and so is the recovery.
 */
export class LastGood<T> {
	readonly #options: LastGoodOptions<T>;
	#value: T;
	#complaint: string | undefined;

	/** `value` is in force from the beginning, which is not reported. */
	constructor(options: LastGoodOptions<T>, value: T) {
		this.#options = options;
		this.#value = value;
	}

	/** What is in force: the very same until it changes. */
	get value(): T {
		return this.#value;
	}

	/** The files are good, with this content. */
	accept(value: T): void {
		const { what, files, onEvent, isSame = Object.is } = this.#options;
		const isOld = isSame(this.#value, value);
		const isNews = !isOld || this.#complaint !== undefined;
		this.#complaint = undefined;
		if (!isOld) this.#value = value;
		if (isNews) onEvent?.({ type: 'credentials-loaded', what, files });
	}

	/** The files cannot be used now. */
	refuse(error: Error): void {
		if (error.message === this.#complaint) return;
		this.#complaint = error.message;
		const { what, files, onEvent } = this.#options;
		onEvent?.({ type: 'credentials-refused', what, files, error });
	}
}

/** Longer than any token, certificate or bundle of certificates that a system ships. */
const BYTES_MAX = 1024 * 1024;

/** The text of a file of credentials. Rejects with an Error that names the file, and never reveals its content. */
export async function readSmallFile(path: string): Promise<string> {
	let file: Awaited<ReturnType<typeof open>> | undefined;
	try {
		// A FIFO without a writer would hold up one of the few threads for files, and with it the end of the process.
		file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
		const stats = await file.stat();
		if (!stats.isFile()) throw new Error('it is not a regular file');
		if (stats.size > BYTES_MAX) throw new Error(`it is longer than ${BYTES_MAX} bytes`);
		return await file.readFile('utf8');
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		throw new Error(`${path} cannot be read: ${code ?? message}`, { cause });
	} finally {
		await file?.close();
	}
}
