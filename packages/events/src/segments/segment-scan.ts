import type { ReadableFile } from '../foundation/files.ts';
import { isIntact, lengthAt, nextMarker, RECORD_HEAD_BYTES } from './record.ts';

/** What a scan finds, in order. */
export interface ScanVisitor {
	/** An intact record; `offset` is where it is in the file. False ends the scan. */
	record(buffer: Buffer, at: number, length: number, offset: number): boolean;
	/** Between two offsets nothing is intact; the record behind it comes next. False ends the scan. */
	gap(from: number, to: number, buffer: Buffer, at: number): boolean;
}

/** Most records are shorter: one that the end of a chunk cuts is whole in the next one. */
const OVERLAP_BYTES = 32 * 1024;
/** How much is read at a time. */
export const CHUNK_BYTES: number = 1024 * 1024;

/**
 * Looks at the records of a segment from an offset, at which one begins. Where none is intact it goes on at the next that is, wherever that
 * is. Gives the offset behind the last record that it visited.
 */
export async function scanRecords(
	file: ReadableFile,
	from: number,
	seed: number,
	visitor: ScanVisitor,
	chunkBytes: number = CHUNK_BYTES,
): Promise<number> {
	return scanFrom(from, seed, visitor, new ChunkReader(file, chunkBytes));
}

/** As `scanRecords`, for who wants all of the file: while a chunk is looked at the next one is read. */
export async function scanAllRecords(
	file: ReadableFile,
	from: number,
	seed: number,
	visitor: ScanVisitor,
): Promise<number> {
	const chunks = new ChunkReader(file, CHUNK_BYTES, OVERLAP_BYTES);
	try {
		return await scanFrom(from, seed, visitor, chunks);
	} finally {
		await chunks.end();
	}
}

async function scanFrom(from: number, seed: number, visitor: ScanVisitor, chunks: ChunkReader): Promise<number> {
	const end = chunks.fileBytes;
	let buffer: Buffer = Buffer.alloc(0);
	let bufferAt = from;
	let offset = from;
	/** Behind the last record that was visited. */
	let visitedTo = from;
	while (offset + RECORD_HEAD_BYTES <= end) {
		const at = offset - bufferAt;
		const length = lengthAt(buffer, at);
		const wanted = Math.max(length, RECORD_HEAD_BYTES);
		if (at + wanted > buffer.length && offset + wanted <= end) {
			({ buffer, at: bufferAt } = await chunks.read(offset, wanted));
			// The file is shorter than it was when it was opened.
			if (offset - bufferAt + wanted > buffer.length) return visitedTo;
			continue;
		}
		if (!isIntact(buffer, at, length, seed)) {
			const next = nextMarker(buffer, at + 1);
			// The last byte may be the first half of a marker.
			offset = bufferAt + (next === -1 ? Math.max(at + 1, buffer.length - 1) : next);
			continue;
		}
		if (offset > visitedTo && !visitor.gap(visitedTo, offset, buffer, at)) return visitedTo;
		if (!visitor.record(buffer, at, length, offset)) return offset;
		offset += length;
		visitedTo = offset;
	}
	return visitedTo;
}

interface Chunk {
	readonly buffer: Buffer;
	/** Where it is in the file. */
	readonly at: number;
}

/** Reads a file in chunks. With an overlap the next one is read ahead, from so many bytes in front of the end of the present one. */
class ChunkReader {
	readonly fileBytes: number;
	readonly #file: ReadableFile;
	readonly #chunkBytes: number;
	readonly #overlapBytes: number | undefined;
	#ahead: Promise<PromiseSettledResult<Chunk>[]> | undefined;

	constructor(file: ReadableFile, chunkBytes: number, overlapBytes?: number) {
		this.fileBytes = file.bytes;
		this.#file = file;
		this.#chunkBytes = chunkBytes;
		this.#overlapBytes = overlapBytes;
	}

	/** So many bytes from an offset, and what else is in their chunk; fewer only where the file has become shorter. */
	async read(offset: number, wanted: number): Promise<Chunk> {
		const [read] = (await this.#ahead) ?? [];
		this.#ahead = undefined;
		// What could not be read ahead is read again: the error is that of who needs it.
		const ahead = read?.status === 'fulfilled' ? read.value : undefined;
		const has = ahead !== undefined && ahead.at <= offset && offset + wanted <= ahead.at + ahead.buffer.length;
		const chunk = has ? ahead : await this.#readAt(offset, Math.max(this.#chunkBytes, wanted));
		const end = chunk.at + chunk.buffer.length;
		if (this.#overlapBytes !== undefined && end < this.fileBytes && chunk.buffer.length > this.#overlapBytes) {
			this.#ahead = Promise.allSettled([this.#readAt(end - this.#overlapBytes, this.#chunkBytes)]);
		}
		return chunk;
	}

	/** Waits for what was read ahead and is not needed: its file is about to be closed. */
	async end(): Promise<void> {
		await this.#ahead;
	}

	async #readAt(at: number, bytes: number): Promise<Chunk> {
		return { at, buffer: asBuffer(await this.#file.read(at, Math.min(this.fileBytes - at, bytes))) };
	}
}

export function asBuffer(bytes: Uint8Array): Buffer {
	return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
