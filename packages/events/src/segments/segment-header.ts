import { crc32 } from 'node:zlib';

/** How a segment is named among all, and how they are ordered: by epoch, then by first position. */
export interface SegmentName {
	/** Position of its first record. */
	readonly first: number;
	/** Of the owner that wrote it: grows with each owner, and with each file that could not be written further. */
	readonly epoch: number;
}

/** What a segment says of itself, in its first bytes. */
export interface SegmentHeader extends SegmentName {
	/** When it was begun, in milliseconds since 1970. */
	readonly time: number;
	readonly salt: Uint8Array;
	/** The segment in front of it, as its owner knew the log; epoch 0: none. What another owner wrote beside that is void. */
	readonly previous: SegmentName;
}

/** Magic 8 | format version 4 | CRC 4 | first 8 | epoch 8 | time 8 | previous first 8 | previous epoch 8 | salt 8. */
const COPY_BYTES = 64;
/** It is written twice, in two blocks of the disk: without the salt nothing of a segment could be read. */
const COPIES_AT: readonly number[] = [0, 512];
/** Records begin behind it. */
export const HEADER_BYTES = 1024;
export const SALT_BYTES = 8;
/** A program that knows less than this must not touch the log. */
const FORMAT_VERSION = 1;
const MAGIC = 'SPOCKLOG';
const CRC_AT = 12;
const FIELDS_AT = 16;
const NUMBERS = 5;
const SALT_AT = FIELDS_AT + NUMBERS * 8;
const UINT_32 = 0x1_0000_0000;

export function encodeHeader({ first, epoch, time, previous, salt }: SegmentHeader): Buffer {
	const target = Buffer.alloc(COPY_BYTES);
	target.write(MAGIC, 0, 'latin1');
	target.writeUInt32LE(FORMAT_VERSION, MAGIC.length);
	[first, epoch, time, previous.first, previous.epoch].forEach((value, index) => {
		target.writeUInt32LE(value % UINT_32, FIELDS_AT + index * 8);
		target.writeUInt32LE(Math.floor(value / UINT_32), FIELDS_AT + index * 8 + 4);
	});
	target.set(salt, SALT_AT);
	target.writeUInt32LE(headerCrc(target), CRC_AT);
	const header = Buffer.alloc(HEADER_BYTES);
	for (const at of COPIES_AT) header.set(target, at);
	return header;
}

/** `newer`: another program's format, which this one must leave alone. `damaged`: no header, or a torn one. */
export function decodeHeader(bytes: Buffer): SegmentHeader | 'newer' | 'damaged' {
	for (const at of COPIES_AT) {
		const header = decodeCopy(bytes.subarray(at, at + COPY_BYTES));
		if (header !== 'damaged') return header;
	}
	return 'damaged';
}

function decodeCopy(bytes: Buffer): SegmentHeader | 'newer' | 'damaged' {
	if (bytes.length < COPY_BYTES || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return 'damaged';
	const fields = bytes.subarray(FIELDS_AT);
	if (headerCrc(bytes) !== bytes.readUInt32LE(CRC_AT)) return 'damaged';
	// A later format must keep these bytes as they are, or else it looks damaged.
	if (bytes.readUInt32LE(MAGIC.length) > FORMAT_VERSION) return 'newer';
	const number = (index: number): number =>
		fields.readUInt32LE(index * 8) + fields.readUInt32LE(index * 8 + 4) * UINT_32;
	return {
		first: number(0),
		epoch: number(1),
		time: number(2),
		previous: { first: number(3), epoch: number(4) },
		salt: Uint8Array.from(bytes.subarray(SALT_AT)),
	};
}

function headerCrc(bytes: Buffer): number {
	return crc32(bytes.subarray(FIELDS_AT), crc32(bytes.subarray(0, CRC_AT)));
}

const SEGMENT_NAME = /^([0-9]{16})-([1-9][0-9]{0,14})\.log$/;
const EPOCH_NAME = /^([1-9][0-9]{0,14})\.epoch$/;

export function segmentFileName({ first, epoch }: SegmentName): string {
	return `${String(first).padStart(16, '0')}-${epoch}.log`;
}

export function readSegmentFileName(name: string): SegmentName | undefined {
	const [, first, epoch] = SEGMENT_NAME.exec(name) ?? [];
	return first === undefined ? undefined : { first: Number(first), epoch: Number(epoch) };
}

/** A file that only by its name says that an owner has this epoch. */
export function epochFileName(epoch: number): string {
	return `${epoch}.epoch`;
}

export function readEpochFileName(name: string): number | undefined {
	const [, epoch] = EPOCH_NAME.exec(name) ?? [];
	return epoch === undefined ? undefined : Number(epoch);
}

export function compareSegments(one: SegmentName, other: SegmentName): number {
	return one.epoch - other.epoch || one.first - other.first;
}
