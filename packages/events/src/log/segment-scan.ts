import type { ReadableFile } from '../foundation/files.ts';
import { isIntact, lengthAt, nextMarker, RECORD_HEAD_BYTES } from './record.ts';

/** What a scan finds, in order. */
export interface ScanVisitor {
	/** An intact record; `offset` is where it is in the file. False ends the scan. */
	record(buffer: Buffer, at: number, length: number, offset: number): boolean;
	/** Between two offsets nothing is intact; the record behind it comes next. False ends the scan. */
	gap(from: number, to: number, buffer: Buffer, at: number): boolean;
}

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
	const end = file.bytes;
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
			buffer = asBuffer(await file.read(offset, Math.min(end - offset, Math.max(chunkBytes, wanted))));
			bufferAt = offset;
			// The file is shorter than it was when it was opened.
			if (buffer.length < wanted) return visitedTo;
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

export function asBuffer(bytes: Uint8Array): Buffer {
	return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
