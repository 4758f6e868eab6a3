import { PRODUCER_NUMBER_MAX } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { seededRandom } from '../../test/seeded-random.ts';
import type { NewRecord } from '../foundation/log-record.ts';
import {
	decodeRecord,
	isIntact,
	kindAt,
	lengthAt,
	seedAt,
	seedOf,
	sizeRecord,
	streamAt,
	syncedBelowAt,
	writeRecord,
} from './record.ts';
import { decodeHeader, encodeHeader, readSegmentFileName, segmentFileName } from './segment-header.ts';

const SEED = seedOf(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
const plain: NewRecord = {
	kind: 'event',
	producer: 'p-1',
	epoch: 3,
	seq: 9_007_199_254,
	stream: 'orders',
	key: undefined,
	id: undefined,
	text: '{"stream":"orders","payload":5}',
};
const records: readonly NewRecord[] = [
	plain,
	{ ...plain, epoch: PRODUCER_NUMBER_MAX, seq: 2 * PRODUCER_NUMBER_MAX - 1 },
	{ ...plain, key: 'k', id: 'i' },
	{ ...plain, key: 'schlüssel 🚀', text: '{"payload":"ÿ"}' },
	{ ...plain, producer: '', id: 'é', text: `{"payload":"${'x'.repeat(500_000)}"}` },
	{ ...plain, text: '"\ud800"' },
	{ kind: 'note', of: 'producers', text: '{}' },
	{ kind: 'note', of: 'store', text: 'ü' },
];

function encode(record: NewRecord, at: number): { readonly buffer: Buffer; readonly length: number } {
	const { bytes, textBytes } = sizeRecord(record);
	const buffer = Buffer.alloc(at + bytes + 10, 0x7f);
	const end = writeRecord(
		buffer,
		at,
		record,
		{ position: 2 ** 40, time: 1_800_000_000_000, behind: 7, textBytes },
		SEED,
	);
	expect(end).toBe(at + bytes);
	return { buffer, length: bytes };
}

describe('a record', () => {
	it.each(records)('is read as it was written: %#', (record) => {
		const { buffer, length } = encode(record, 13);
		expect(seedAt(buffer, 13, length)).toBe(SEED);
		expect([lengthAt(buffer, 13), kindAt(buffer, 13), syncedBelowAt(buffer, 13)]).toEqual([
			length,
			record.kind,
			2 ** 40 - 7,
		]);
		expect(isIntact(buffer, 13, length, SEED)).toBe(true);
		const place = { position: 2 ** 40, time: 1_800_000_000_000 };
		// A lone half of a surrogate pair is no text, and becomes U+FFFD.
		expect(decodeRecord(buffer, 13, length)).toEqual({
			...record,
			...place,
			text: Buffer.from(record.text).toString(),
		});
		if (record.kind === 'event') expect(streamAt(buffer, 13)).toBe('orders');
	});

	it('is not intact with any bit changed, cut, or in a segment with another salt', () => {
		const { buffer, length } = encode(plain, 0);
		for (let bit = 0; bit < length * 8; bit++) {
			const changed = Buffer.from(buffer);
			changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
			const found = lengthAt(changed, 0);
			expect(found !== 0 && isIntact(changed, 0, found, SEED)).toBe(false);
		}
		expect(isIntact(buffer.subarray(0, length - 1), 0, length, SEED)).toBe(false);
		expect(isIntact(buffer, 0, length, seedOf(Uint8Array.of(1)))).toBe(false);
	});

	it('is not seen in bytes of any kind', () => {
		const random = seededRandom(1);
		for (let round = 0; round < 2000; round++) {
			const buffer = Buffer.from(Array.from({ length: 64 }, () => random() * 256));
			buffer.set([0xfe, 0xff], 0);
			const length = lengthAt(buffer, 0);
			expect(length !== 0 && isIntact(buffer, 0, length, SEED)).toBe(false);
		}
	});
});

describe('the header of a segment', () => {
	const header = {
		first: 2 ** 45,
		epoch: 12,
		time: 1_800_000_000_000,
		salt: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 255),
		previous: { first: 7, epoch: 11 },
	};

	it('is read as it was written, and from its second copy if the first is damaged', () => {
		const bytes = encodeHeader(header);
		expect(decodeHeader(bytes)).toEqual(header);
		bytes.fill(0, 0, 512);
		expect(decodeHeader(bytes)).toEqual(header);
		bytes[520] = 0;
		expect(decodeHeader(bytes)).toBe('damaged');
		expect(decodeHeader(Buffer.alloc(0))).toBe('damaged');
	});

	it('stands in a file whose name sorts by its first position', () => {
		expect(segmentFileName(header)).toBe('0035184372088832-12.log');
		expect(readSegmentFileName('0035184372088832-12.log')).toEqual({ first: 2 ** 45, epoch: 12 });
		for (const name of [
			'1-1.log',
			'0035184372088832-0.log',
			'0035184372088832-12.log.damaged',
			'owner.sock',
			'2.epoch',
		]) {
			expect(readSegmentFileName(name)).toBeUndefined();
		}
	});
});
