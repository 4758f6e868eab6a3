import { describe, expect, it } from 'vitest';

import { event } from '../../test/open-sim-log.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import type { ReadableFile } from '../foundation/files.ts';
import { positionAt, sizeRecord, writeRecord } from './record.ts';
import { CHUNK_BYTES, type ScanVisitor, scanAllRecords } from './segment-scan.ts';

const SEED = 7;

/** Records of many lengths, some of them longer than what two chunks have in common, one longer than a chunk. */
function manyRecords(): { readonly bytes: Buffer; readonly offsets: readonly number[] } {
	const random = seededRandom(3);
	const bytes = Buffer.alloc(6 * CHUNK_BYTES);
	const offsets: number[] = [];
	for (let end = 0; ; ) {
		const length = offsets.length === 20 ? CHUNK_BYTES + 1000 : Math.floor(random() ** 2 * 150_000);
		const record = event('x'.repeat(length));
		const { bytes: recordBytes, textBytes } = sizeRecord(record);
		if (end + recordBytes > bytes.length) return { bytes: bytes.subarray(0, end), offsets };
		offsets.push(end);
		end = writeRecord(bytes, end, record, { position: offsets.length, time: 1, behind: 0, textBytes }, SEED);
	}
}

function fileOf(bytes: Buffer, failing: (read: number) => boolean = () => false): ReadableFile {
	let reads = 0;
	return {
		bytes: bytes.length,
		read: async (offset, length) => {
			if (failing(++reads)) throw new Error('EIO');
			return bytes.subarray(offset, offset + length);
		},
		close: () => Promise.resolve(),
	};
}

/** Positions and gaps, as a scan finds them. */
async function scan(file: ReadableFile, positionMax = Number.POSITIVE_INFINITY) {
	const positions: number[] = [];
	const gaps: [number, number][] = [];
	const visitor: ScanVisitor = {
		gap: (from, to) => gaps.push([from, to]) > 0,
		record: (buffer, at) => positions.push(positionAt(buffer, at)) < positionMax,
	};
	return { end: await scanAllRecords(file, 0, SEED, visitor), positions, gaps };
}

describe('a scan of a whole segment, which reads ahead', () => {
	const { bytes, offsets } = manyRecords();
	const all = offsets.map((_, index) => index + 1);

	it('finds each record once, in order, wherever a chunk ends', async () => {
		expect(await scan(fileOf(bytes))).toEqual({ end: bytes.length, positions: all, gaps: [] });
	});

	it.each([3, 20, 21, 22, 60])('goes on behind a damaged record (%i)', async (position) => {
		const damaged = Buffer.from(bytes);
		const [from = 0, to = 0] = [offsets[position - 1], offsets[position]];
		damaged[to - 1] = 0x41;
		const positions = all.filter((each) => each !== position);
		expect(await scan(fileOf(damaged))).toEqual({ end: bytes.length, positions, gaps: [[from, to]] });
	});

	it('reads again what could not be read ahead, and fails with the error of what it needs', async () => {
		expect((await scan(fileOf(bytes, (read) => read === 2))).positions).toEqual(all);
		await expect(scan(fileOf(bytes, (read) => read > 1))).rejects.toThrow('EIO');
	});

	it('needs nothing of what it has read ahead when its visitor has seen enough', async () => {
		expect(
			(
				await scan(
					fileOf(bytes, (read) => read > 1),
					3,
				)
			).positions,
		).toEqual([1, 2, 3]);
	});
});
