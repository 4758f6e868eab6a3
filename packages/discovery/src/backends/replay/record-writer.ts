import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from 'node:fs';

import type { ServiceSnapshot } from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';

import type { MarkRecord, RecordHeader, SnapshotRecord } from './record-format.ts';

/** Kept free for the last line. */
const LAST_LINE_BYTES = 256;

/** What a {@link RecordWriter} needs. */
export interface RecordWriterOptions {
	/** Must not be there yet: a record is never written over. */
	readonly file: string;
	/** Name and version of the sidecar, and the services that are asked for, null for all. */
	readonly header: Pick<RecordHeader, 'sidecar' | 'services'>;
	/** Longest file, in bytes. */
	readonly bytesMax: number;
	/** Default: the process's. */
	readonly clock?: Clock;
	/** Told once, when it is full or cannot be written: nothing is written after that. */
	readonly failed: (error: Error) => void;
}

/**
 * Writes a record, each line at once and whole, so that what was seen is there whatever becomes of this process. Lines are few and
 * short: waiting for the file costs less than a queue that must be bounded and emptied.
 */
export class RecordWriter {
	readonly #options: RecordWriterOptions;
	readonly #clock: Clock;
	readonly #startedAtMs: number;
	readonly #descriptor: number;
	#isOpen = true;
	#bytes = 0;
	#lines = 0;

	/** Throws an Error that names the file. */
	constructor(options: RecordWriterOptions) {
		const { file, header, clock = systemClock } = options;
		this.#options = options;
		this.#clock = clock;
		this.#startedAtMs = clock.now();
		try {
			// Only for this user: it tells where every service is.
			this.#descriptor = openSync(file, 'wx', 0o600);
		} catch (cause) {
			const { code } = cause as NodeJS.ErrnoException;
			const why = code === 'EEXIST' ? 'it already exists; name a new file' : code;
			throw new Error(`the recording ${file} cannot be created: ${why}`, { cause });
		}
		this.#write({ record: 'spock', version: 1, ...header, startedAt: clock.wallNow() } satisfies RecordHeader);
	}

	/** Lines written, the first one left out. */
	get lines(): number {
		return Math.max(0, this.#lines - 1);
	}

	get bytes(): number {
		return this.#bytes;
	}

	snapshot({ service, revision, source, ageMs, held, panic, oversize, instances }: ServiceSnapshot): void {
		const marks = { ...(held && { held }), ...(panic && { panic }), ...(oversize && { oversize }) };
		const line = { service, revision, source, ageMs: Math.round(ageMs), ...marks, instances };
		this.#write({ type: 'snapshot', ...this.#times(), ...line } satisfies SnapshotRecord);
	}

	mark(type: 'begun' | 'gap' | 'back', reason?: string): void {
		this.#write({ type, ...this.#times(), ...(reason !== undefined && { reason }) } satisfies MarkRecord);
	}

	/** The last line, and the end. Idempotent. */
	end(reason: string): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		try {
			const end = { type: 'end', ...this.#times(), reason } satisfies MarkRecord;
			writeSync(this.#descriptor, `${JSON.stringify(end)}\n`);
			fsyncSync(this.#descriptor);
		} catch (cause) {
			this.#options.failed(this.#cannotWrite(cause as Error));
		} finally {
			closeSync(this.#descriptor);
		}
	}

	/** Ends it without a trace. */
	discard(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		closeSync(this.#descriptor);
		unlinkSync(this.#options.file);
	}

	#times(): { t: number; at: number } {
		return { t: Math.round(this.#clock.now() - this.#startedAtMs), at: this.#clock.wallNow() };
	}

	#write(line: object): void {
		if (!this.#isOpen) return;
		const text = `${JSON.stringify(line)}\n`;
		const bytes = Buffer.byteLength(text);
		const { file, bytesMax, failed } = this.#options;
		if (this.#bytes + bytes + LAST_LINE_BYTES > bytesMax) {
			this.end('full');
			failed(new Error(`the recording ${file} is full: ${bytesMax} bytes (--max-bytes)`));
			return;
		}
		try {
			writeSync(this.#descriptor, text);
			this.#bytes += bytes;
			this.#lines++;
		} catch (cause) {
			this.#isOpen = false;
			closeSync(this.#descriptor);
			failed(this.#cannotWrite(cause as Error));
		}
	}

	#cannotWrite(cause: Error): Error {
		return new Error(`the recording ${this.#options.file} cannot be written: ${cause.message}`, { cause });
	}
}
