import { join } from 'node:path';

import type { Files } from '../foundation/files.ts';
import { decodeRecord, kindAt, positionAt, streamAt, timeAt } from './record.ts';
import type { PageBuilder, Segment } from './segment.ts';
import { segmentFileName } from './segment-header.ts';
import { CHUNK_BYTES, scanRecords } from './segment-scan.ts';

/** What is read besides the bytes that were asked for: the place of a record is known to within this. */
const SLACK_BYTES = 128 * 1024;

/** Where a read on disk has come to. */
export interface SegmentRead {
	/** The position behind the last record that was looked at. */
	readonly next: number;
	/** Bytes that were looked at. */
	readonly bytes: number;
	/** Positions that could not be read, first and behind the last. */
	readonly lost: readonly { readonly from: number; readonly to: number }[];
}

export interface SegmentPlace {
	readonly directory: string;
	readonly files: Files;
}

/** Adds events of one segment to a page: from a position on, below another one, and until so many bytes were looked at. */
export async function readSegment(
	segment: Segment,
	range: { readonly from: number; readonly below: number; readonly bytesMax: number },
	page: PageBuilder,
	{ directory, files }: SegmentPlace,
): Promise<SegmentRead> {
	const { from, below } = range;
	const start = segment.offsetOf(from);
	const lost: { from: number; to: number }[] = [];
	let next = from;
	let isStopped = false;
	/** Where the first record is that was asked for, and the last that was looked at. */
	let lookedFrom: number | undefined;
	let lookedTo = start;
	/** The position that comes next in the file. */
	let expected: number | undefined;
	const file = await files.open(join(directory, segmentFileName(segment)));
	try {
		const chunkBytes = Math.min(CHUNK_BYTES, range.bytesMax + SLACK_BYTES);
		await scanRecords(
			file,
			start,
			segment.seed,
			{
				gap: () => true,
				record: (buffer, at, length, offset) => {
					const position = positionAt(buffer, at);
					lookedTo = offset;
					const kind = kindAt(buffer, at);
					if (position >= below || kind === 'seal') return false;
					// Or else it is a part of the file that stands in it twice.
					if (position < from || position < (expected ?? 0)) {
						expected = Math.max(expected ?? 0, position + 1);
						return true;
					}
					// The scan begins at a record that is not behind `from`: where that is gone, so is what is behind it.
					if (position > (expected ?? from)) lost.push({ from: expected ?? from, to: position });
					expected = position + 1;
					lookedFrom ??= offset;
					isStopped = offset - lookedFrom >= range.bytesMax;
					if (kind === 'event' && (page.stream === undefined || streamAt(buffer, at) === page.stream)) {
						isStopped ||= !page.hasRoomFor(length);
						if (isStopped) return false;
						const event = decodeRecord(buffer, at, length);
						if (event.kind === 'event') page.add(event, length);
						isStopped = page.isFull;
					}
					next = position + 1;
					return !isStopped;
				},
			},
			chunkBytes,
		);
	} finally {
		await file.close();
	}
	if (!isStopped) {
		if ((expected ?? from) < below) lost.push({ from: expected ?? from, to: below });
		next = below;
	}
	return { next, bytes: lookedTo - start, lost };
}

/** The first position of a segment whose record is not older than a time, below a limit; the limit if there is none. */
export async function findTime(
	segment: Segment,
	time: number,
	below: number,
	{ directory, files }: SegmentPlace,
): Promise<number> {
	let found = below;
	const file = await files.open(join(directory, segmentFileName(segment)));
	try {
		await scanRecords(file, segment.offsetAtTime(time), segment.seed, {
			gap: () => true,
			record: (buffer, at) => {
				const position = positionAt(buffer, at);
				if (position >= below || kindAt(buffer, at) === 'seal') return false;
				if (timeAt(buffer, at) < time) return true;
				found = position;
				return false;
			},
		});
	} finally {
		await file.close();
	}
	return found;
}
