import { join } from 'node:path';

import type { LogMemory } from '../foundation/event-log.ts';
import type { Files, ReadableFile } from '../foundation/files.ts';
import {
	decodeReplayed,
	hasIdAt,
	isIntact,
	kindAt,
	lengthAt,
	nextMarker,
	positionAt,
	RecordNames,
	seedAt,
	streamAt,
	syncedBelowAt,
	timeAt,
} from './record.ts';
import { Segment } from './segment.ts';
import { HEADER_BYTES, type SegmentHeader, type SegmentName, segmentFileName } from './segment-header.ts';
import { asBuffer, type ScanVisitor, scanAllRecords, scanRecords } from './segment-scan.ts';

/** Records that were written once and cannot be read. */
export interface LogDamage {
	/** The file, without its directory. */
	readonly file: string;
	/** The first position that is lost, and the one behind the last. */
	readonly from: number;
	readonly to: number;
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
	/** Events with an id that are younger than this, by the newest segment, are replayed in any case. */
	readonly replayMs: number;
	/** So many of them are enough, the newest. */
	readonly replayIdsMax: number;
	/** Also what is known without that is read. Default false. */
	readonly readsAll?: boolean;
	/** For tests: what follows a torn record is taken too. */
	readonly keepsTornTail?: boolean;
}

/** What was read of a segment. */
export interface SegmentScan {
	readonly segment: Segment;
	readonly damage: readonly LogDamage[];
	readonly unsynced: UnsyncedBytes | undefined;
	/** What its last record says of those in front. */
	readonly syncedBelow: number;
}

export interface ScanOptions extends RecoveryOptions {
	/** Its records reach up to here, and what is behind is void: whoever wrote the next file had found them. Infinite if there is none; then the tail may be torn. */
	readonly end: number;
	readonly isReplayed: boolean;
	/** If not: of its events with an id those from this time on. */
	readonly idsFrom: number;
	/** Its owner may be writing it: what is behind a gap is left alone. */
	readonly isAhead?: boolean;
}

/** `earlier`: what was read of it before. Undefined for one that its owner has only begun. */
export async function scanSegment(
	{ header, checkpointBytes }: { readonly header: SegmentHeader; readonly checkpointBytes: number },
	options: ScanOptions,
	earlier?: SegmentScan,
): Promise<SegmentScan | undefined> {
	const { directory, files, end, isAhead = false } = options;
	const fileName = segmentFileName(header);
	const file = await files.open(join(directory, fileName));
	try {
		const segment = earlier?.segment ?? new Segment({ ...header, checkpointBytes });
		if (isAhead && !segment.hasCheckpoint) return undefined;
		segment.fileBytes = file.bytes;
		const scan = new RecoveryScan(segment, options, earlier?.syncedBelow);
		const offset = await scanAllRecords(file, segment.length, segment.seed, scan);
		if (scan.tornAt !== undefined && !isAhead) {
			// What is behind may show that it was synced once.
			scan.syncedBelow = await syncedBelow(file, offset, segment.seed);
			await scanRecords(file, offset, segment.seed, scan);
		}
		if (segment.next < end && Number.isFinite(end)) scan.lose(end);
		const damage = [...(earlier?.damage ?? []), ...scan.damage];
		return { segment, damage, unsynced: scan.unsynced, syncedBelow: scan.lastSyncedBelow };
	} finally {
		await file.close();
	}
}

/** Of how many bytes is a seed found: it is slow, and nothing else happens meanwhile. */
const SEED_BYTES_MAX = 1024 * 1024;
/** Seeds that are tried for each record. */
const SEEDS_MAX = 8;

/**
 * The position behind the last record of a file whose header cannot be read, and with it the salt: records are taken for intact that have
 * the same seed, which is found from some of them. `first` if none of them says that any was synced: then one batch of the file was
 * acknowledged at most, and whether it was cannot be known.
 */
export async function lostEnd(file: ReadableFile, first: number): Promise<number> {
	const buffer = asBuffer(await file.read(HEADER_BYTES, Math.max(0, file.bytes - HEADER_BYTES)));
	const bySeed = new Map<number, { records: number; end: number; synced: number }>();
	let seedBytes = 0;
	for (let at = 0; at >= 0 && at < buffer.length; ) {
		const length = lengthAt(buffer, at);
		if (length === 0 || at + length > buffer.length) {
			at = nextMarker(buffer, at + 1);
			continue;
		}
		let seed = [...bySeed.keys()].find((known) => isIntact(buffer, at, length, known));
		if (seed === undefined && seedBytes + length <= SEED_BYTES_MAX) {
			seedBytes += length;
			seed = seedAt(buffer, at, length);
			const single = [...bySeed].find(([, { records }]) => records === 1);
			if (bySeed.size >= SEEDS_MAX && single !== undefined) bySeed.delete(single[0]);
		}
		if (seed !== undefined) {
			const alike = bySeed.get(seed) ?? { records: 0, end: first, synced: first };
			const [kind, position] = [kindAt(buffer, at), positionAt(buffer, at)];
			alike.records++;
			if (kind === 'event' || kind === 'note') alike.end = Math.max(alike.end, position + 1);
			alike.synced = Math.max(alike.synced, kind === 'seal' ? position : syncedBelowAt(buffer, at));
			bySeed.set(seed, alike);
		}
		at += length;
	}
	const known = [...bySeed.values()].filter(({ records, synced }) => records > 1 && synced > first);
	return known.reduce((most, { end }) => Math.max(most, end), first);
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
	syncedBelow: number;
	/** What its last record says of those in front. */
	lastSyncedBelow: number;
	readonly #segment: Segment;
	readonly #options: ScanOptions;
	readonly #streams = new RecordNames();
	readonly #producers = new RecordNames();

	constructor(segment: Segment, options: ScanOptions, lastSyncedBelow = 0) {
		this.lastSyncedBelow = lastSyncedBelow;
		this.syncedBelow = Number.isFinite(options.end) ? options.end : 0;
		this.#segment = segment;
		this.#options = options;
	}

	gap(_from: number, _to: number, buffer: Buffer, at: number): boolean {
		const { next } = this.#segment;
		// Between the records lies something that is none.
		if (positionAt(buffer, at) <= next) return true;
		if (next < this.syncedBelow || this.#options.keepsTornTail === true) return true;
		this.tornAt = next;
		return false;
	}

	record(buffer: Buffer, at: number, length: number, offset: number): boolean {
		const { end, isReplayed, idsFrom, memory } = this.#options;
		const segment = this.#segment;
		const kind = kindAt(buffer, at);
		const position = positionAt(buffer, at);
		if (kind === 'seal') {
			if (Math.min(position, end) > segment.next) this.lose(Math.min(position, end));
			this.isSealed = true;
			return false;
		}
		if (position >= end) return false;
		// A part of the file that stands in it twice.
		if (position < segment.next) return true;
		if (position > segment.next) this.lose(position);
		if (kind === 'event' || kind === 'note') {
			const stream = kind === 'event' ? streamAt(buffer, at, this.#streams) : undefined;
			segment.skipTo(offset);
			const time = timeAt(buffer, at);
			const hasId = stream !== undefined && hasIdAt(buffer, at);
			segment.add(position, time, length, stream, hasId);
			this.lastSyncedBelow = syncedBelowAt(buffer, at);
			if (isReplayed || (hasId && time >= idsFrom)) {
				memory.replay(decodeReplayed(buffer, at, length, stream, this.#producers), !isReplayed);
			}
		}
		return true;
	}

	get unsynced(): UnsyncedBytes | undefined {
		if (this.isSealed) return undefined;
		const { first, epoch, length } = this.#segment;
		const isBegun = this.lastSyncedBelow > first;
		return { file: { first, epoch }, from: isBegun ? this.#segment.offsetOf(this.lastSyncedBelow) : 0, to: length };
	}

	/** Everything up to a position is lost. */
	lose(to: number): void {
		const { next } = this.#segment;
		this.#segment.lost.push({ from: next, to });
		this.damage.push({ file: segmentFileName(this.#segment), from: next, to });
		this.#segment.next = to;
	}
}
