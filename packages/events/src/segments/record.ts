import { crc32 } from 'node:zlib';

import type { LogNote, LogRecord, NewNote, NewRecord, RecordPlace, ReplayedRecord } from '../foundation/log-record.ts';

/**
 * A record on disk, integers little endian:
 *
 * marker 2 | CRC 4 | length 4 | version 1 | kind 1 | flags 1 | position 6 | time 6 | behind 4 | body
 *
 * The length counts all of it. The CRC covers what follows it and the salt of the segment, so that no bytes of another file look
 * intact. `behind` says how many records in front of this one were not yet known to be on disk when it was made: a bad record that is
 * further away than that was synced once, so it is damage and no torn tail.
 *
 * CRC-32 and not CRC-32C: `zlib.crc32` is native (about 190 ns for 300 bytes), and catches the same torn writes.
 */
const HEAD_BYTES = 29;
/** Head, seq 6, epoch 6, lengths of producer 1, stream 1, key 2 and id 2. */
const EVENT_HEAD_BYTES = HEAD_BYTES + 18;
const NOTE_HEAD_BYTES = HEAD_BYTES + 1;
/** Bytes that appear in no UTF-8 text: a search for the next record stops at few others. */
const MARKER = Buffer.from([0xfe, 0xff]);
const MARKER_NUMBER = 0xfffe;
const CRC_FROM = 6;
/** Of the CRC-32 of zlib, its bits reversed. */
const CRC_POLYNOMIAL = 0xedb88320;
const VERSION = 1;
const VERSION_AT = 10;
const KIND_AT = 11;
const FLAGS_AT = 12;
const POSITION_AT = 13;
const TIME_AT = 19;
const BEHIND_AT = 25;
const BEHIND_MAX = 0xffff_ffff;
/** The text is ASCII, which `latin1` writes and reads several times as fast as UTF-8. */
const ASCII_FLAG = 1;
const UINT_16 = 0x1_0000;
const UINT_32 = 0x1_0000_0000;

/** Longest record that is believed when a file is searched. The checkpoint, whose place is known, may be longer. */
export const RECORD_BYTES_MAX: number = 16 * 1024 * 1024;

const EVENT = 1;
const NOTE = 2;
const CHECKPOINT = 3;
const SEAL = 4;
/** A program that does not know it skips it. */
const SUMMARY = 5;
const OWNERS: readonly NewNote['of'][] = ['producers', 'groups', 'store'];

/** What an intact record is, before it is decoded. */
export type RecordKind = 'event' | 'note' | 'checkpoint' | 'seal' | 'summary' | 'unknown';
const KINDS: readonly RecordKind[] = ['unknown', 'event', 'note', 'checkpoint', 'seal', 'summary'];

/** What the CRC of each record of a segment begins with. */
export function seedOf(salt: Uint8Array): number {
	return crc32(salt);
}

/** How many bytes a record takes, and its text alone: what {@link writeRecord} must be given. */
export function sizeRecord(
	record: NewRecord,
	textBytes: number = Buffer.byteLength(record.text),
): { readonly textBytes: number; readonly bytes: number } {
	if (record.kind === 'note') return { textBytes, bytes: NOTE_HEAD_BYTES + textBytes };
	const { producer, stream, key, id } = record;
	const keyBytes = key === undefined ? 0 : Buffer.byteLength(key);
	const idBytes = id === undefined ? 0 : Buffer.byteLength(id);
	return { textBytes, bytes: EVENT_HEAD_BYTES + producer.length + stream.length + keyBytes + idBytes + textBytes };
}

/** Writes a record at `at`; gives the offset behind it. The buffer must have room for what {@link sizeRecord} says. */
export function writeRecord(
	target: Buffer,
	at: number,
	record: NewRecord,
	place: RecordPlace & { readonly behind: number; readonly textBytes: number },
	seed: number,
): number {
	const { textBytes } = place;
	const isAscii = textBytes === record.text.length;
	let end: number;
	if (record.kind === 'note') {
		target[at + HEAD_BYTES] = OWNERS.indexOf(record.of);
		end = at + NOTE_HEAD_BYTES;
	} else {
		const { seq, epoch, producer, stream, key, id } = record;
		let field = at + HEAD_BYTES;
		field = writeUint48(target, field, seq);
		field = writeUint48(target, field, epoch);
		target[field] = producer.length;
		target[field + 1] = stream.length;
		end = at + EVENT_HEAD_BYTES;
		end = writeName(target, end, producer);
		end = writeName(target, end, stream);
		const keyBytes = key === undefined ? 0 : target.write(key, end, 'utf8');
		const idBytes = id === undefined ? 0 : target.write(id, end + keyBytes, 'utf8');
		writeUint16(target, field + 2, keyBytes);
		writeUint16(target, field + 4, idBytes);
		end += keyBytes + idBytes;
	}
	if (isAscii) target.write(record.text, end, 'latin1');
	else target.write(record.text, end, 'utf8');
	end += textBytes;
	const kind = record.kind === 'note' ? NOTE : EVENT;
	const { position, time, behind } = place;
	return writeHead(target, at, end, { position, time, behind, kind, flags: isAscii ? ASCII_FLAG : 0 }, seed);
}

/** Names are ASCII, and short: a loop is quicker than a call of Node's. */
function writeName(target: Buffer, at: number, name: string): number {
	for (let index = 0; index < name.length; index++) target[at + index] = name.charCodeAt(index);
	return at + name.length;
}

/** The record that a segment begins with: what is remembered of everything in front of it. */
export function encodeCheckpoint(text: string, place: RecordPlace, seed: number): Buffer {
	return encodeText(CHECKPOINT, text, place, seed);
}

/** The record behind the checkpoint: what the segment in front of this one holds. */
export function encodeSummary(text: string, place: RecordPlace, seed: number): Buffer {
	return encodeText(SUMMARY, text, place, seed);
}

function encodeText(kind: number, text: string, { position, time }: RecordPlace, seed: number): Buffer {
	const target = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(text));
	target.write(text, HEAD_BYTES, 'utf8');
	writeHead(target, 0, target.length, { position, time, behind: 0, kind, flags: 0 }, seed);
	return target;
}

/** The record that a segment ends with: behind it nothing is to be found. */
export function encodeSeal({ position, time }: RecordPlace, seed: number): Buffer {
	const target = Buffer.allocUnsafe(HEAD_BYTES);
	writeHead(target, 0, HEAD_BYTES, { position, time, behind: 0, kind: SEAL, flags: 0 }, seed);
	return target;
}

interface Head extends RecordPlace {
	readonly behind: number;
	readonly kind: number;
	readonly flags: number;
}

function writeHead(target: Buffer, at: number, end: number, head: Head, seed: number): number {
	writeUint16(target, at, MARKER_NUMBER);
	target.writeUInt32LE(end - at, at + CRC_FROM);
	target[at + VERSION_AT] = VERSION;
	target[at + KIND_AT] = head.kind;
	target[at + FLAGS_AT] = head.flags;
	writeUint48(target, at + POSITION_AT, head.position);
	writeUint48(target, at + TIME_AT, head.time);
	target.writeUInt32LE(Math.min(head.behind, BEHIND_MAX), at + BEHIND_AT);
	signRecord(target, at, end, seed);
	return end;
}

/** Makes the record between two offsets one of the segment that this seed belongs to. */
export function signRecord(target: Buffer, at: number, end: number, seed: number): void {
	target.writeUInt32LE(crc32(bytesOf(target, at + CRC_FROM, end), seed), at + 2);
}

/** As `subarray`, which takes twice as long: it makes a Buffer. */
function bytesOf(buffer: Buffer, from: number, end: number): Uint8Array {
	return new Uint8Array(buffer.buffer, buffer.byteOffset + from, end - from);
}

/** The length that a record at this offset says it has; 0 if none begins here, or if it says what cannot be. It may exceed the buffer. */
export function lengthAt(buffer: Buffer, at: number, bytesMax: number = RECORD_BYTES_MAX): number {
	if (at + HEAD_BYTES > buffer.length) return 0;
	if (buffer[at] !== MARKER[0] || buffer[at + 1] !== MARKER[1]) return 0;
	const length = buffer.readUInt32LE(at + CRC_FROM);
	return length < HEAD_BYTES || length > bytesMax ? 0 : length;
}

/** Whether a record of this length is as it was written into the segment of this seed. */
export function isIntact(buffer: Buffer, at: number, length: number, seed: number): boolean {
	const end = at + length;
	if (length < HEAD_BYTES || end > buffer.length) return false;
	return crc32(bytesOf(buffer, at + CRC_FROM, end), seed) === buffer.readUInt32LE(at + 2);
}

/** What its CRC began with, if the record is intact: the steps of the CRC are taken back, byte by byte. */
export function seedAt(buffer: Buffer, at: number, length: number): number {
	let state = ~buffer.readUInt32LE(at + 2);
	for (let index = at + length - 1; index >= at + CRC_FROM; index--) {
		for (let bit = 0; bit < 8; bit++) state = state < 0 ? ((state ^ CRC_POLYNOMIAL) << 1) | 1 : state << 1;
		state ^= buffer[index] as number;
	}
	return ~state >>> 0;
}

/** Where the next marker is, from an offset on; -1 if there is none. */
export function nextMarker(buffer: Buffer, from: number): number {
	return buffer.indexOf(MARKER, from);
}

/** Fewest bytes in which {@link lengthAt} can see a record. */
export const RECORD_HEAD_BYTES: number = HEAD_BYTES;

export function kindAt(buffer: Buffer, at: number): RecordKind {
	if (buffer[at + VERSION_AT] !== VERSION) return 'unknown';
	return KINDS[buffer[at + KIND_AT] as number] ?? 'unknown';
}

export function positionAt(buffer: Buffer, at: number): number {
	return readUint48(buffer, at + POSITION_AT);
}

export function timeAt(buffer: Buffer, at: number): number {
	return readUint48(buffer, at + TIME_AT);
}

/** Every position below this was on disk when the record was made. */
export function syncedBelowAt(buffer: Buffer, at: number): number {
	return positionAt(buffer, at) - buffer.readUInt32LE(at + BEHIND_AT);
}

/** Names as they stand in records: mostly that of the record before, which is compared, and not made again. */
export class RecordNames {
	#last = '';

	read(buffer: Buffer, from: number, length: number): string {
		const last = this.#last;
		if (last.length === length) {
			let same = 0;
			while (same < length && buffer[from + same] === last.charCodeAt(same)) same++;
			if (same === length) return last;
		}
		this.#last = buffer.toString('latin1', from, from + length);
		return this.#last;
	}
}

/** The stream of an event; with `streams`, for many events in a row. */
export function streamAt(buffer: Buffer, at: number, streams?: RecordNames): string {
	const from = at + EVENT_HEAD_BYTES + (buffer[at + HEAD_BYTES + 12] as number);
	const length = buffer[at + HEAD_BYTES + 13] as number;
	return streams?.read(buffer, from, length) ?? buffer.toString('latin1', from, from + length);
}

/** Whether an event has an id. */
export function hasIdAt(buffer: Buffer, at: number): boolean {
	return buffer.readUInt16LE(at + HEAD_BYTES + 16) > 0;
}

/** The text of a checkpoint or a summary. */
export function textAt(buffer: Buffer, at: number, length: number): string {
	return buffer.toString('utf8', at + HEAD_BYTES, at + length);
}

/** An intact event or note, as far as a start needs it; the stream is known already. */
export function decodeReplayed(
	buffer: Buffer,
	at: number,
	length: number,
	stream: string | undefined,
	producers: RecordNames,
): ReplayedRecord {
	if (stream === undefined) return decodeNote(buffer, at, at + length);
	const field = at + HEAD_BYTES;
	const producerBytes = buffer[field + 12] as number;
	const idFrom = at + EVENT_HEAD_BYTES + producerBytes + stream.length + buffer.readUInt16LE(field + 14);
	const idBytes = buffer.readUInt16LE(field + 16);
	return {
		kind: 'event',
		position: positionAt(buffer, at),
		time: timeAt(buffer, at),
		producer: producers.read(buffer, at + EVENT_HEAD_BYTES, producerBytes),
		epoch: readUint48(buffer, field + 6),
		seq: readUint48(buffer, field),
		stream,
		id: idBytes === 0 ? undefined : buffer.toString('utf8', idFrom, idFrom + idBytes),
	};
}

function decodeNote(buffer: Buffer, at: number, end: number): LogNote {
	const isAscii = ((buffer[at + FLAGS_AT] as number) & ASCII_FLAG) !== 0;
	const text = textOf(buffer, at + NOTE_HEAD_BYTES, end, isAscii);
	const of = OWNERS[buffer[at + HEAD_BYTES] as number] ?? 'store';
	return { kind: 'note', position: positionAt(buffer, at), time: timeAt(buffer, at), of, text };
}

/** An intact event or note. */
export function decodeRecord(buffer: Buffer, at: number, length: number): LogRecord {
	const end = at + length;
	if (buffer[at + KIND_AT] === NOTE) return decodeNote(buffer, at, end);
	const isAscii = ((buffer[at + FLAGS_AT] as number) & ASCII_FLAG) !== 0;
	const position = positionAt(buffer, at);
	const time = timeAt(buffer, at);
	const field = at + HEAD_BYTES;
	const streamFrom = at + EVENT_HEAD_BYTES + (buffer[field + 12] as number);
	const keyFrom = streamFrom + (buffer[field + 13] as number);
	const idFrom = keyFrom + buffer.readUInt16LE(field + 14);
	const textFrom = idFrom + buffer.readUInt16LE(field + 16);
	return {
		kind: 'event',
		position,
		time,
		producer: buffer.toString('latin1', at + EVENT_HEAD_BYTES, streamFrom),
		epoch: readUint48(buffer, field + 6),
		seq: readUint48(buffer, field),
		stream: buffer.toString('latin1', streamFrom, keyFrom),
		key: keyFrom === idFrom ? undefined : buffer.toString('utf8', keyFrom, idFrom),
		id: idFrom === textFrom ? undefined : buffer.toString('utf8', idFrom, textFrom),
		text: textOf(buffer, textFrom, end, isAscii),
	};
}

function textOf(buffer: Buffer, from: number, end: number, isAscii: boolean): string {
	return isAscii ? buffer.toString('latin1', from, end) : buffer.toString('utf8', from, end);
}

function writeUint16(target: Buffer, at: number, value: number): void {
	target[at] = value & 0xff;
	target[at + 1] = value >>> 8;
}

function writeUint48(target: Buffer, at: number, value: number): number {
	target.writeUInt32LE(value % UINT_32, at);
	writeUint16(target, at + 4, Math.floor(value / UINT_32) % UINT_16);
	return at + 6;
}

function readUint48(buffer: Buffer, at: number): number {
	return buffer.readUInt32LE(at) + buffer.readUInt16LE(at + 4) * UINT_32;
}
