import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

import { RECORD_BYTES_MAX, type RecordHeader, type RecordLine, readHeader, readRecord } from './record-format.ts';

/** A record that cannot be played. The message starts with file and line. */
export class RecordFileError extends Error {
	readonly file: string;
	/** From 1. */
	readonly line: number;

	constructor(file: string, line: number, reason: string, options?: ErrorOptions) {
		super(`${file}:${line}: ${reason}`, options);
		this.name = 'RecordFileError';
		this.file = file;
		this.line = line;
	}
}

/** A whole record. */
export interface Recording {
	readonly header: RecordHeader;
	/** In the order of their times. */
	readonly lines: readonly RecordLine[];
	/** True if the last line is cut off, as of a recorder that was killed while it wrote: that line is left out. */
	readonly isCut: boolean;
}

/**
 * Reads a record. Rejects with a RecordFileError that names the first bad line, and with an Error if the file cannot be read or
 * is longer than 256 MiB.
 */
export async function readRecording(file: string): Promise<Recording> {
	// A FIFO that nobody writes would hold up the start for ever, without a word.
	const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: NodeJS.ErrnoException) => {
		throw new Error(`the recording ${file} cannot be read: ${cause.code ?? cause.message}`, { cause });
	});
	try {
		const stats = await handle.stat();
		if (!stats.isFile()) throw new Error(`the recording ${file} is not a regular file`);
		if (stats.size > RECORD_BYTES_MAX) {
			throw new Error(`the recording ${file} has ${stats.size} bytes; at most ${RECORD_BYTES_MAX} are allowed`);
		}
		return await readLines(file, handle.readLines());
	} finally {
		await handle.close();
	}
}

async function readLines(file: string, texts: AsyncIterable<string>): Promise<Recording> {
	let header: RecordHeader | undefined;
	const lines: RecordLine[] = [];
	let number = 0;
	let bad: RecordFileError | undefined;
	for await (const text of texts) {
		// It was not the last line, so it was not cut off.
		if (bad !== undefined) throw bad;
		number++;
		if (text.trim() === '') continue;
		try {
			if (header === undefined) header = readHeader(text);
			else {
				const line = readRecord(text);
				if (line !== undefined && line.t < (lines.at(-1)?.t ?? 0))
					throw new Error('t is less than in the previous line');
				if (line !== undefined) lines.push(line);
			}
		} catch (cause) {
			bad = new RecordFileError(file, number, (cause as Error).message, { cause });
			const isNoJson = (cause as Error).cause instanceof SyntaxError;
			if (header === undefined || !isNoJson) throw bad;
		}
	}
	if (header === undefined) throw new RecordFileError(file, 1, 'it is empty');
	return { header, lines, isCut: bad !== undefined };
}
