import { join } from 'node:path';

import { SpockError } from '@spock/protocol';

import { Segment, type SegmentSummary } from '../segments/segment.ts';
import {
	compareSegments,
	readSegmentFileName,
	type SegmentHeader,
	type SegmentName,
	segmentFileName,
} from '../segments/segment-header.ts';
import { readCheckpoint, readPreamble } from '../segments/segment-preamble.ts';
import {
	type LogDamage,
	lostEnd,
	type RecoveryOptions,
	type ScanOptions,
	type SegmentScan,
	scanSegment,
	type UnsyncedBytes,
} from '../segments/segment-recovery.ts';

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

interface Found {
	readonly name: SegmentName;
	/** Undefined if neither copy can be read. */
	readonly header: SegmentHeader | undefined;
	readonly checkpointBytes: number;
	/** What it says of the one in front of it. */
	readonly previous: SegmentSummary | undefined;
	readonly fileBytes: number;
	/** Without a header: the position up to which its records are lost. */
	readonly lostTo?: number;
}

/** What was read of a log before it was claimed, while its owner wrote on. */
export interface ReadAhead {
	readonly chain: readonly Link[];
	/** Of each of them. */
	readonly scans: readonly SegmentScan[];
	/** The first that was replayed. */
	readonly replayFrom: number;
}

/**
 * Reads a log that another process still writes, and tells `memory`: `recoverLog` then reads on from there. Rejects as that does. What
 * was not written to its end while it was read is left out.
 */
export async function readAhead(names: readonly string[], options: RecoveryOptions): Promise<ReadAhead> {
	const { chain } = chainOf(await filesIn(names, options));
	const replayFrom = await restore(chain, options);
	const scans = await scanChain(chain, replayFrom, { ...options, isAhead: true });
	return { chain: chain.slice(0, scans.length), replayFrom, scans };
}

/**
 * Reads a log, oldest record first, and tells `memory` what it must remember. Rejects if the disk cannot be read, and with UNAVAILABLE for
 * the log of a newer program, and where what was read ahead is not true any more: `memory` is of no use then. Never for what is damaged.
 */
export async function recoverLog(
	names: readonly string[],
	options: RecoveryOptions,
	ahead?: ReadAhead,
): Promise<RecoveredLog> {
	const { directory } = options;
	const { chain, damage, strayFiles, voidFiles } = chainOf(
		await withLostEnd(await filesIn(names, options, ahead?.chain), options),
	);
	if (ahead !== undefined && !isStillTrue(ahead, chain)) {
		const message = `the log in ${directory} was not only added to while it was read: it is read again`;
		throw new SpockError('UNAVAILABLE', message, { details: { directory } });
	}
	const replayFrom = ahead?.replayFrom ?? (await restore(chain, options));
	const scans = await scanChain(chain, replayFrom, options, ahead?.scans);
	const segments = scans.map(({ segment }) => segment);
	const damagedFiles = chain.filter((_, index) => (scans[index]?.damage.length ?? 0) > 0).map(({ name }) => name);
	damage.push(...scans.flatMap((scan) => scan.damage));
	const { next: read, lastTime } = segments.at(-1) ?? { next: chain[0]?.name.first ?? 1, lastTime: 0 };
	// Above what is lost at the end of a damaged file nothing is known, so its positions are not given again.
	const next = damage.reduce((most, { to }) => Math.max(most, to), read);
	const unsynced = scans.at(-1)?.unsynced;
	return { segments, next, lastTime, damage, damagedFiles, strayFiles, voidFiles, unsynced };
}

/** Whether what was read ahead was only added to since. */
function isStillTrue({ chain, scans }: ReadAhead, now: readonly Link[]): boolean {
	return chain.every(({ name, end }, index) => {
		const link = now[index];
		if (link === undefined || compareSegments(link.name, name) !== 0) return false;
		// Behind the newest of that time there may be another one, which must begin behind all that was read.
		return index < chain.length - 1 ? link.end === end : link.end >= (scans[index]?.segment.next ?? 0);
	});
}

/** `known`: links whose headers were read before. */
async function filesIn(
	names: readonly string[],
	options: RecoveryOptions,
	known: readonly Link[] = [],
): Promise<Found[]> {
	const links = new Map(known.map((link) => [segmentFileName(link.name), link]));
	const found: Found[] = [];
	for (const fileName of names) {
		const name = readSegmentFileName(fileName);
		if (name === undefined) continue;
		found.push(links.get(fileName) ?? (await look(name, options)));
	}
	return found.sort((one, other) => compareSegments(one.name, other.name));
}

/** Where the files behind the newest header end: nothing else says it of them. */
async function withLostEnd(found: readonly Found[], { directory, files }: RecoveryOptions): Promise<Found[]> {
	const newest = found.findLastIndex(({ header }) => header !== undefined);
	const ends = found.slice(0, newest + 1);
	for (const each of found.slice(newest + 1)) {
		const { name } = each;
		const file = await files.open(join(directory, segmentFileName(name)));
		const lostTo = await lostEnd(file, name.first).finally(() => file.close());
		ends.push({ ...each, lostTo });
	}
	return ends;
}

/** Reads the segments in order; `ahead`: what was read of the first of them, of which the last may have become longer. */
async function scanChain(
	chain: readonly Link[],
	replayFrom: number,
	options: RecoveryOptions & Pick<ScanOptions, 'isAhead'>,
	ahead: readonly SegmentScan[] = [],
): Promise<SegmentScan[]> {
	const scans = ahead.slice(0, -1);
	const idsFrom = idsNeededFrom(chain, options);
	const known = summedUp(chain, replayFrom, options);
	for (const [index, link] of chain.entries()) {
		if (index < scans.length) continue;
		const { end } = link;
		const follower = chain[index + 1];
		const segment = known[index];
		if (segment !== undefined) {
			scans.push({ segment, damage: [], unsynced: undefined, syncedBelow: 0 });
			continue;
		}
		const scan = await scanSegment(
			link,
			{
				...options,
				idsFrom,
				end,
				isReplayed: index >= replayFrom,
				isAhead: options.isAhead === true && follower === undefined,
			},
			ahead[index],
		);
		if (scan === undefined) break;
		scans.push(scan);
	}
	return scans;
}

/** Ids of events before this time are not needed any more. */
function idsNeededFrom(chain: readonly Link[], { replayMs }: RecoveryOptions): number {
	return (chain.at(-1)?.header.time ?? 0) - replayMs;
}

/** Those segments whose records are not needed, as the ones behind them know them, by their index. */
function summedUp(
	chain: readonly Link[],
	replayFrom: number,
	options: RecoveryOptions,
): readonly (Segment | undefined)[] {
	const { readsAll = false, replayIdsMax } = options;
	const known: (Segment | undefined)[] = [];
	if (readsAll) return known;
	const idsFrom = idsNeededFrom(chain, options);
	let ids = 0;
	for (let index = replayFrom - 1; index >= 0; index--) {
		const link = chain[index] as Link;
		const summary = summaryOf(link, chain[index + 1]);
		if (summary === undefined) continue;
		if (summary.lastIdTime !== null && summary.lastIdTime >= idsFrom && ids < replayIdsMax) {
			ids += summary.ids;
			continue;
		}
		const { header, checkpointBytes, fileBytes } = link;
		const segment = new Segment({ ...header, checkpointBytes });
		segment.restore(summary);
		segment.fileBytes = fileBytes;
		known[index] = segment;
	}
	return known;
}

/** What the segment behind it says of it, if that can be believed: nothing is missing between them, nor at the end of its file. */
function summaryOf({ name, fileBytes }: Link, follower: Link | undefined): SegmentSummary | undefined {
	if (follower?.previous === undefined || compareSegments(follower.header.previous, name) !== 0) return undefined;
	const { next, length } = follower.previous;
	return next === follower.name.first && fileBytes >= length ? follower.previous : undefined;
}

async function look(name: SegmentName, { directory, files }: RecoveryOptions): Promise<Found> {
	const file = await files.open(join(directory, segmentFileName(name)));
	try {
		const { header, ...preamble } = await readPreamble(file);
		if (header === 'newer') {
			const message = `the log in ${directory} was written by a newer sidecar: start that one, or choose another directory`;
			throw new SpockError('UNAVAILABLE', message, { details: { directory, file: segmentFileName(name) } });
		}
		const isOurs = header !== 'damaged' && header.first === name.first && header.epoch === name.epoch;
		return { ...preamble, name, header: isOurs ? header : undefined, fileBytes: file.bytes };
	} finally {
		await file.close();
	}
}

interface Link extends Found {
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
	for (const [index, each] of [...found.entries()].reverse()) {
		const { name, header, lostTo = 0 } = each;
		const newer = chain[0];
		const order = wanted === undefined ? 0 : compareSegments(name, wanted);
		if (order > 0) voidFiles.push(name);
		else if (header !== undefined) {
			if (order < 0 && wanted !== undefined && newer !== undefined) {
				// The one in between is gone. Without any in front it was trimmed; so it was deleted by somebody else.
				damage.push({ file: segmentFileName(wanted), from: wanted.first, to: newer.name.first });
				end = wanted.first;
			}
			chain.unshift({ ...each, header, end });
			end = name.first;
			wanted = header.previous;
		} else {
			strayFiles.push(name);
			// Of the newest file only its records can say that it held any.
			if (newer === undefined && lostTo > name.first) {
				damage.push({ file: segmentFileName(name), from: name.first, to: lostTo });
			}
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

/** Gives the memory the newest checkpoint that can be read; gives the index of the segment from which records are replayed. */
async function restore(chain: readonly Link[], options: RecoveryOptions): Promise<number> {
	for (const [index, link] of [...chain.entries()].reverse()) {
		if (link.checkpointBytes === 0) continue;
		const file = await options.files.open(join(options.directory, segmentFileName(link.name)));
		const checkpoint = await readCheckpoint(file, link.header).finally(() => file.close());
		if (checkpoint === undefined) continue;
		options.memory.restore(checkpoint);
		return index;
	}
	return 0;
}
