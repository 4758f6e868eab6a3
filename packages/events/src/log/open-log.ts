import { join } from 'node:path';

import { SpockError } from '@spock/protocol';

import type { Files } from '../foundation/files.ts';
import {
	epochFileName,
	readEpochFileName,
	readSegmentFileName,
	type SegmentName,
	segmentFileName,
} from '../segments/segment-header.ts';
import type { UnsyncedBytes } from '../segments/segment-recovery.ts';
import { CHUNK_BYTES } from '../segments/segment-scan.ts';
import type { EventLogOptions, ReplayLimits } from './log-options.ts';
import { type ReadAhead, type RecoveredLog, readAhead, recoverLog } from './recovery.ts';

/** Copies and leftovers of damaged files that are left for people to look at; the oldest go first. */
const DAMAGED_FILES_MAX = 4;
const DAMAGED = '.damaged';
/** Owners that may come in between two calls. */
const EPOCH_TRIES_MAX = 100;

/**
 * Claims the directory, takes an epoch, and reads what is there: in this order. Whoever had it before may still write, and
 * acknowledges nothing of what comes after our claim.
 */
export async function openLog(
	{ directory, files, owner, memory, keepsTornTail = false }: EventLogOptions,
	{ replayMs, replayIdsMax }: ReplayLimits,
	takeOver: boolean,
	ahead: ReadAhead | undefined,
): Promise<{ readonly epoch: number; readonly recovered: RecoveredLog }> {
	// Makes it, for the owner's socket.
	await files.list(directory);
	await owner.claim(takeOver ? 'anyone' : 'nobody');
	const epoch = await takeEpoch(files, directory, 0);
	// If this is true nobody has claimed it since, so nobody has a higher epoch.
	if (!(await owner.isOurs())) throw lostDirectory(directory);
	const names = await files.list(directory);
	const options = { directory, files, memory, replayMs, replayIdsMax, keepsTornTail };
	const recovered = await recoverLog(names, options, ahead);
	if (recovered.unsynced !== undefined) await writeAgain(directory, files, recovered.unsynced);
	if (recovered.segments.length > 0) await files.syncDirectory(directory);
	return { epoch, recovered };
}

/**
 * Makes durable what was read, and may be in the memory of the kernel alone: a killed process left it there, or a sync has failed, after
 * which the kernel takes the pages for clean, and another sync writes nothing. So the same bytes are written again.
 */
async function writeAgain(directory: string, files: Files, { file: name, from, to }: UnsyncedBytes): Promise<void> {
	const file = await files.reopen(join(directory, segmentFileName(name)));
	try {
		for (let offset = from; offset < to; offset += CHUNK_BYTES) {
			await file.write([await file.read(offset, Math.min(CHUNK_BYTES, to - offset))], offset);
		}
		await file.sync();
	} finally {
		await file.close();
	}
}

/** Reads what is there while another process has it, and writes on. */
export async function readLogAhead(
	{ directory, files, memory, keepsTornTail = false }: EventLogOptions,
	{ replayMs, replayIdsMax }: ReplayLimits,
): Promise<ReadAhead> {
	const options = { directory, files, memory, replayMs, replayIdsMax, keepsTornTail };
	return readAhead(await files.list(directory), options);
}

/** Takes an epoch that no owner of this directory had, above one of our own. */
export async function takeEpoch(files: Files, directory: string, above: number): Promise<number> {
	const names = await files.list(directory);
	const taken = names.map((name) => readSegmentFileName(name)?.epoch ?? readEpochFileName(name) ?? 0);
	const newest = taken.reduce((one, other) => Math.max(one, other), above);
	for (let epoch = newest + 1; epoch <= newest + EPOCH_TRIES_MAX; epoch++) {
		try {
			const file = await files.create(join(directory, epochFileName(epoch)));
			await file.close();
		} catch (error) {
			// Another owner has it.
			if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
			throw error;
		}
		for (const name of names) {
			if (readEpochFileName(name) !== undefined) await files.remove(join(directory, name));
		}
		return epoch;
	}
	throw new SpockError('UNAVAILABLE', `other processes keep claiming the log in ${directory}: start only one there`);
}

export function lostDirectory(directory: string): SpockError {
	return new SpockError('UNAVAILABLE', `another process has claimed the log in ${directory}`, {
		details: { directory },
	});
}

/** Removes what is superseded, and puts aside what is damaged: a copy of what is still read, the file itself of what is not. */
export async function tidyLog(
	{ directory, files }: Pick<EventLogOptions, 'directory' | 'files'>,
	{ damagedFiles, strayFiles, voidFiles }: RecoveredLog,
): Promise<void> {
	for (const name of voidFiles) await files.remove(join(directory, segmentFileName(name)));
	for (const name of strayFiles) {
		const path = join(directory, segmentFileName(name));
		await files.rename(path, `${path}${DAMAGED}`);
	}
	const known = await files.list(directory);
	for (const name of damagedFiles.slice(-DAMAGED_FILES_MAX)) {
		if (!known.includes(`${segmentFileName(name)}${DAMAGED}`)) await copyAside(directory, files, name);
	}
	const aside = (await files.list(directory)).filter((name) => name.endsWith(DAMAGED)).sort();
	for (const name of aside.slice(0, -DAMAGED_FILES_MAX)) await files.remove(join(directory, name));
}

async function copyAside(directory: string, files: Files, name: SegmentName): Promise<void> {
	const path = join(directory, segmentFileName(name));
	// A name of its own until it is whole: half a copy of an earlier start is written anew.
	const half = `${path}${DAMAGED}.part`;
	await files.remove(half);
	const from = await files.open(path);
	try {
		const to = await files.create(half);
		try {
			for (let offset = 0; offset < from.bytes; offset += CHUNK_BYTES) {
				await to.write([await from.read(offset, CHUNK_BYTES)], offset);
			}
			await to.sync();
		} finally {
			await to.close();
		}
	} finally {
		await from.close();
	}
	await files.rename(half, `${path}${DAMAGED}`);
}

/** UNAVAILABLE, with the error of the operating system as its cause. */
export function asFailure(cause: unknown): SpockError {
	if (SpockError.is(cause)) return cause;
	const { code = 'unknown' } = cause as NodeJS.ErrnoException;
	return new SpockError('UNAVAILABLE', `the disk of the log fails with ${code}`, { cause, details: { code } });
}
