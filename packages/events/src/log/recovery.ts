import { join } from 'node:path';

import { SpockError } from '@spock/protocol';

import type { LogMemory } from '../foundation/event-log.ts';
import type { Files, ReadableFile } from '../foundation/files.ts';
import {
	checkpointAt,
	decodeReplayed,
	isIntact,
	kindAt,
	lengthAt,
	positionAt,
	RECORD_HEAD_BYTES,
	RecordNames,
	seedOf,
	streamAt,
	syncedBelowAt,
	timeAt,
} from './record.ts';
import { Segment } from './segment.ts';
import {
	compareSegments,
	decodeHeader,
	HEADER_BYTES,
	readSegmentFileName,
	type SegmentHeader,
	type SegmentName,
	segmentFileName,
} from './segment-header.ts';
import { asBuffer, type ScanVisitor, scanAllRecords, scanRecords } from './segment-scan.ts';

/** Records that were written once and cannot be read. */
export interface LogDamage {
	/** The file, without its directory. */
	readonly file: string;
	/** The first position that is lost, and the one behind the last. */
	readonly from: number;
	readonly to: number;
}

/** What was found in a log's directory. */
export interface RecoveredLog {
	/** In order, oldest first. */
	readonly segments: Segment[];
	/** The position behind the last record. */
	readonly next: number;
	readonly lastTime: number;
	readonly damage: readonly LogDamage[];
	/** Files of the log that are damaged, and in use. */
	readonly damagedFiles: readonly SegmentName[];
	/** Files of which nothing can be read, or nobody knows to what they belong. */
	readonly strayFiles: readonly SegmentName[];
	/** Files that a later owner has superseded: nothing in them was ever acknowledged. */
	readonly voidFiles: readonly SegmentName[];
	/** What nobody is known to have synced. */
	readonly unsynced: UnsyncedBytes | undefined;
}

/** A part of a file, from an offset up to another one. */
export interface UnsyncedBytes {
	readonly file: SegmentName;
	readonly from: number;
	readonly to: number;
}

export interface RecoveryOptions {
	readonly directory: string;
	readonly files: Files;
	readonly memory: LogMemory;
	/** Records that are younger than this, by the newest segment, are replayed in any case. */
	readonly replayMs: number;
	/** For tests: what follows a torn record is taken too. */
	readonly keepsTornTail?: boolean;
}

interface Found {
	readonly name: SegmentName;
	/** Undefined if neither copy can be read. */
	readonly header: SegmentHeader | undefined;
}

/**
 * Reads a log, oldest record first, and tells `memory` what it must remember. Rejects if the disk cannot be read, and with UNAVAILABLE for
 * the log of a newer program; never for what is damaged.
 */
export async function recoverLog(names: readonly string[], options: RecoveryOptions): Promise<RecoveredLog> {
	const found: Found[] = [];
	for (const fileName of names) {
		const name = readSegmentFileName(fileName);
		if (name !== undefined) found.push(await look(name, options));
	}
	found.sort((one, other) => compareSegments(one.name, other.name));
	const { chain, damage, strayFiles, voidFiles } = chainOf(found);
	const damagedFiles: SegmentName[] = [];
	const replayFrom = await restore(chain, options);
	const segments: Segment[] = [];
	let unsynced: UnsyncedBytes | undefined;
	let next = chain[0]?.name.first ?? 1;
	let lastTime = 0;
	for (const [index, { name, header, end }] of chain.entries()) {
		const follower = chain[index + 1];
		const scan = await scanSegment(header, {
			...options,
			limit: follower?.name.first ?? Number.POSITIVE_INFINITY,
			end,
			isLastOfEpoch: follower?.name.epoch !== name.epoch,
			isReplayed: index >= replayFrom,
			lastTime,
		});
		damage.push(...scan.damage);
		if (scan.damage.length > 0) damagedFiles.push(name);
		segments.push(scan.segment);
		({ unsynced } = scan);
		({ next, lastTime } = scan.segment);
	}
	// Above what is lost at the end of a damaged file nothing is known, so its positions are not given again.
	next = damage.reduce((most, { to }) => Math.max(most, to), next);
	return { segments, next, lastTime, damage, damagedFiles, strayFiles, voidFiles, unsynced };
}

async function look(name: SegmentName, { directory, files }: RecoveryOptions): Promise<Found> {
	const file = await files.open(join(directory, segmentFileName(name)));
	try {
		const header = decodeHeader(asBuffer(await file.read(0, Math.min(HEADER_BYTES, file.bytes))));
		if (header === 'newer') {
			const message = `the log in ${directory} was written by a newer sidecar: start that one, or choose another directory`;
			throw new SpockError('UNAVAILABLE', message, { details: { directory, file: segmentFileName(name) } });
		}
		const isOurs = header !== 'damaged' && header.first === name.first && header.epoch === name.epoch;
		return { name, header: isOurs ? header : undefined };
	} finally {
		await file.close();
	}
}

interface Link {
	readonly name: SegmentName;
	readonly header: SegmentHeader;
	/** The first position of the file behind it, which may be one that cannot be read. */
	readonly end: number;
}

interface Chain {
	readonly chain: readonly Link[];
	readonly damage: LogDamage[];
	readonly strayFiles: readonly SegmentName[];
	readonly voidFiles: readonly SegmentName[];
}

/**
 * The segments of the log: from the newest, each names the one in front of it. What lies between them was written by an owner that had
 * lost the directory, or could not be written further, and nothing of it was acknowledged.
 */
function chainOf(found: readonly Found[]): Chain {
	const chain: Link[] = [];
	const damage: LogDamage[] = [];
	const strayFiles: SegmentName[] = [];
	const voidFiles: SegmentName[] = [];
	/** The next one; undefined before the newest is found. */
	let wanted: SegmentName | undefined;
	let end = Number.POSITIVE_INFINITY;
	for (const [index, { name, header }] of [...found.entries()].reverse()) {
		const newer = chain[0];
		const order = wanted === undefined ? 0 : compareSegments(name, wanted);
		if (order > 0) voidFiles.push(name);
		else if (header !== undefined) {
			if (order < 0 && wanted !== undefined && newer !== undefined) {
				// The one in between is gone. Without any in front it was trimmed; so it was deleted by somebody else.
				damage.push({ file: segmentFileName(wanted), from: wanted.first, to: newer.name.first });
				end = wanted.first;
			}
			chain.unshift({ name, header, end });
			end = name.first;
			wanted = header.previous;
		} else {
			strayFiles.push(name);
			if (newer === undefined || order < 0) continue;
			damage.push({ file: segmentFileName(name), from: name.first, to: newer.name.first });
			end = name.first;
			// Which one is in front of it is lost with it: the next that fits.
			const isInFront = (other: Found): boolean => other.header !== undefined && other.name.first < name.first;
			wanted = found.slice(0, index).findLast(isInFront)?.name ?? { first: 0, epoch: 0 };
		}
	}
	return { chain, damage, strayFiles, voidFiles };
}

/** Gives the memory the newest checkpoint that is old enough; gives the index of the segment from which records are replayed. */
async function restore(chain: readonly Link[], options: RecoveryOptions): Promise<number> {
	const newest = chain.at(-1);
	if (newest === undefined) return 0;
	const before = newest.header.time - options.replayMs;
	let index = Math.max(
		0,
		chain.findLastIndex(({ header }) => header.time <= before),
	);
	for (; index >= 0; index--) {
		const link = chain[index];
		if (link === undefined) break;
		const file = await options.files.open(join(options.directory, segmentFileName(link.name)));
		const checkpoint = await readCheckpoint(file, link.header).finally(() => file.close());
		if (checkpoint === undefined) continue;
		options.memory.restore(checkpoint.text);
		return index;
	}
	return 0;
}

/** The checkpoint that a segment begins with, if it is intact. */
async function readCheckpoint(
	file: ReadableFile,
	{ salt }: SegmentHeader,
): Promise<{ readonly text: string; readonly bytes: number } | undefined> {
	const room = Math.max(0, file.bytes - HEADER_BYTES);
	const bytes = lengthAt(asBuffer(await file.read(HEADER_BYTES, Math.min(RECORD_HEAD_BYTES, room))), 0);
	if (bytes === 0 || bytes > room) return undefined;
	const record = asBuffer(await file.read(HEADER_BYTES, bytes));
	if (kindAt(record, 0) !== 'checkpoint' || !isIntact(record, 0, bytes, seedOf(salt))) return undefined;
	return { text: checkpointAt(record, 0, bytes), bytes };
}

interface SegmentScan {
	readonly segment: Segment;
	readonly damage: readonly LogDamage[];
	readonly unsynced: UnsyncedBytes | undefined;
}

interface ScanOptions extends RecoveryOptions {
	/** Records from here on belong to the next segment. */
	readonly limit: number;
	/** Its records should reach up to here. */
	readonly end: number;
	/** Its tail may be torn. */
	readonly isLastOfEpoch: boolean;
	readonly isReplayed: boolean;
	readonly lastTime: number;
}

async function scanSegment(header: SegmentHeader, options: ScanOptions): Promise<SegmentScan> {
	const { directory, files, end, limit } = options;
	const fileName = segmentFileName(header);
	const file = await files.open(join(directory, fileName));
	try {
		const checkpointBytes = (await readCheckpoint(file, header))?.bytes ?? 0;
		const segment = new Segment({ ...header, checkpointBytes });
		segment.fileBytes = file.bytes;
		const scan = new RecoveryScan(segment, options);
		const offset = await scanAllRecords(file, segment.length, segment.seed, scan);
		if (scan.tornAt !== undefined) {
			// What is behind may show that it was synced once.
			scan.syncedBelow = await syncedBelow(file, offset, segment.seed);
			await scanRecords(file, offset, segment.seed, scan);
		}
		if (segment.next < end && Number.isFinite(end)) scan.lose(end);
		if (Number.isFinite(limit)) {
			// What was in a file behind it, of which nothing is left: reported with that one.
			if (segment.next < limit) segment.lost.push({ from: segment.next, to: limit });
			segment.next = limit;
		}
		return { segment, damage: scan.damage, unsynced: scan.unsynced };
	} finally {
		await file.close();
	}
}

/** Up to which position a writer had synced the file, by its records behind an offset. */
async function syncedBelow(file: ReadableFile, from: number, seed: number): Promise<number> {
	let most = 0;
	await scanRecords(file, from, seed, {
		gap: () => true,
		record: (buffer, at) => {
			most = Math.max(most, kindAt(buffer, at) === 'seal' ? positionAt(buffer, at) : syncedBelowAt(buffer, at));
			return true;
		},
	});
	return most;
}

/** Takes the records of one segment, in order, and decides what a gap between them is. */
class RecoveryScan implements ScanVisitor {
	readonly damage: LogDamage[] = [];
	isSealed = false;
	/** The first position that seems torn. */
	tornAt: number | undefined;
	/** Known to have been synced once: what is bad below is no torn tail. */
	syncedBelow = 0;
	/** What its last record says of those in front. */
	#lastSyncedBelow = 0;
	readonly #segment: Segment;
	readonly #options: ScanOptions;
	readonly #streams = new RecordNames();
	readonly #producers = new RecordNames();

	constructor(segment: Segment, options: ScanOptions) {
		this.#segment = segment;
		this.#options = options;
	}

	gap(_from: number, _to: number, buffer: Buffer, at: number): boolean {
		const { next } = this.#segment;
		// Between the records lies something that is none.
		if (positionAt(buffer, at) <= next) return true;
		if (!this.#options.isLastOfEpoch || next < this.syncedBelow || this.#options.keepsTornTail === true) return true;
		this.tornAt = next;
		return false;
	}

	record(buffer: Buffer, at: number, length: number, offset: number): boolean {
		const { limit, isReplayed, memory } = this.#options;
		const segment = this.#segment;
		const kind = kindAt(buffer, at);
		const position = positionAt(buffer, at);
		if (kind === 'seal') {
			if (Math.min(position, limit) > segment.next) this.lose(Math.min(position, limit));
			this.isSealed = true;
			return false;
		}
		if (position >= limit) return false;
		// A part of the file that stands in it twice.
		if (position < segment.next) return true;
		if (position > segment.next) this.lose(position);
		if (kind === 'event' || kind === 'note') {
			const stream = kind === 'event' ? streamAt(buffer, at, this.#streams) : undefined;
			segment.skipTo(offset);
			segment.add(position, timeAt(buffer, at), length, stream);
			this.#lastSyncedBelow = syncedBelowAt(buffer, at);
			if (isReplayed) memory.replay(decodeReplayed(buffer, at, length, stream, this.#producers));
		}
		return true;
	}

	get unsynced(): UnsyncedBytes | undefined {
		if (this.isSealed) return undefined;
		const { first, epoch, length } = this.#segment;
		const isBegun = this.#lastSyncedBelow > first;
		return { file: { first, epoch }, from: isBegun ? this.#segment.offsetOf(this.#lastSyncedBelow) : 0, to: length };
	}

	/** Everything up to a position is lost. */
	lose(to: number): void {
		const { next } = this.#segment;
		this.#segment.lost.push({ from: next, to });
		this.damage.push({ file: segmentFileName(this.#segment), from: next, to });
		this.#segment.next = to;
	}
}
