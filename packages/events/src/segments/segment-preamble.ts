import type { ReadableFile } from '../foundation/files.ts';
import { isIntact, kindAt, lengthAt, RECORD_HEAD_BYTES, type RecordKind, seedOf, textAt } from './record.ts';
import type { SegmentSummary } from './segment.ts';
import { decodeHeader, HEADER_BYTES, type SegmentHeader } from './segment-header.ts';
import { asBuffer } from './segment-scan.ts';

/** Header, checkpoint and summary are mostly shorter, so that they are read at once. */
const READ_BYTES = 32 * 1024;

/** What stands in front of the records of a segment. */
export interface SegmentPreamble {
	readonly header: SegmentHeader | 'newer' | 'damaged';
	/** Length of the checkpoint; 0 if there is none, or a damaged one. */
	readonly checkpointBytes: number;
	/** What the segment in front of it holds, if that was ended in order. */
	readonly previous: SegmentSummary | undefined;
}

export async function readPreamble(file: ReadableFile): Promise<SegmentPreamble> {
	const header = decodeHeader(asBuffer(await file.read(0, Math.min(HEADER_BYTES, file.bytes))));
	if (typeof header === 'string') return { header, checkpointBytes: 0, previous: undefined };
	const seed = seedOf(header.salt);
	const bytes = asBuffer(await file.read(HEADER_BYTES, Math.max(0, Math.min(READ_BYTES, file.bytes - HEADER_BYTES))));
	const read = { at: HEADER_BYTES, bytes };
	const checkpoint = await recordAt(file, HEADER_BYTES, 'checkpoint', seed, read);
	if (checkpoint === undefined) return { header, checkpointBytes: 0, previous: undefined };
	const summary = await recordAt(file, HEADER_BYTES + checkpoint.length, 'summary', seed, read);
	const text = summary === undefined ? 'null' : textAt(summary, 0, summary.length);
	const previous = (JSON.parse(text) as SegmentSummary | null) ?? undefined;
	return { header, checkpointBytes: checkpoint.length, previous };
}

/** The checkpoint that a segment begins with, if it is intact. */
export async function readCheckpoint(file: ReadableFile, { salt }: SegmentHeader): Promise<string | undefined> {
	const record = await recordAt(file, HEADER_BYTES, 'checkpoint', seedOf(salt));
	return record && textAt(record, 0, record.length);
}

/** An intact record of this kind at an offset; `read`: bytes of the file that are there already. */
async function recordAt(
	file: ReadableFile,
	offset: number,
	kind: RecordKind,
	seed: number,
	read: { readonly at: number; readonly bytes: Buffer } = { at: 0, bytes: Buffer.alloc(0) },
): Promise<Buffer | undefined> {
	const bytesOf = async (length: number): Promise<Buffer> => {
		const known = read.bytes.subarray(offset - read.at, offset - read.at + length);
		return known.length === length ? known : asBuffer(await file.read(offset, length));
	};
	const room = Math.max(0, file.bytes - offset);
	const length = lengthAt(await bytesOf(Math.min(RECORD_HEAD_BYTES, room)), 0, room);
	if (length === 0) return undefined;
	const record = await bytesOf(length);
	return kindAt(record, 0) === kind && isIntact(record, 0, length, seed) ? record : undefined;
}
