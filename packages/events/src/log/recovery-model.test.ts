import type { Random } from '@spock/protocol/internal';
import { FakeClock, settle } from '@spock/testkit';
import { failure, SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';

import { logFiles } from '../../test/damage-log.ts';
import { DIRECTORY, event, makeSimLog, openSimLog, readAll, type SimLog } from '../../test/open-sim-log.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import type { LogDamage } from '../segments/segment-recovery.ts';
import { recoverLog } from './recovery.ts';

const LIVES = 4;
const STREAMS = ['orders', 'bills', 'dead'];
const REPLAY_MS = 4000;
const LIMITS = { replayMs: REPLAY_MS };

interface Appended {
	readonly time: number;
	readonly id: string | undefined;
}

/** What was appended, by its position: of those that took one twice the last. */
type Book = Map<number, Appended>;

/** Writes, fails, trims; gives all that it appended. */
async function write({ log, files, clock }: SimLog, random: Random, book: Book): Promise<void> {
	for (let step = 0; step < 12 && log.state !== 'released'; step++) {
		files.before = (operation) => {
			const fails = random() < 0.04 && (operation === 'sync' || operation === 'write');
			return fails ? Promise.reject(failure(random() < 0.5 ? 'EIO' : 'ENOSPC')) : undefined;
		};
		const count = Math.floor(random() * 16);
		for (let index = 0; index < count; index++) {
			const stream = STREAMS[Math.floor(random() * STREAMS.length)] ?? '';
			const id = random() < 0.1 ? `id ${random()}` : undefined;
			const position = log.append({ ...event('x'.padEnd(10 + Math.floor(random() ** 3 * 2000)), stream), id });
			book.set(position, { time: clock.wallNow(), id });
		}
		if (random() < 0.7) await settle();
		await clock.advance(random() < 0.2 ? 6000 : Math.floor(random() * 300));
		if (random() < 0.05) log.trim(Math.floor(random() * log.persisted));
	}
	files.before = () => undefined;
	await clock.advance(10_000);
}

/** Owners one after the other, ended, killed, switched off, or hung and superseded while they write on. */
async function writtenBy(random: Random): Promise<{ disk: SimDisk; clock: FakeClock; book: Book }> {
	const claims = new SimClaims();
	const clock = new FakeClock();
	const book: Book = new Map();
	let disk = new SimDisk();
	let hung: SimLog | undefined;
	for (let life = 0; life < LIVES; life++) {
		const opened = makeSimLog({ files: new SimFiles(disk, random), claims, clock, random, limits: LIMITS });
		await opened.log.open(true);
		// Wakes up: what it writes is nobody's.
		hung?.log.append(event('void'.padEnd(300)));
		hung = undefined;
		await write(opened, random, book);
		const end = random();
		if (end < 0.3) await opened.log.handOver();
		else if (end < 0.6) hung = opened;
		else {
			await opened.log.close(1000);
			disk = end < 0.8 ? disk.losePower(random) : disk.clone();
		}
	}
	return { disk: disk.clone(), clock, book };
}

/** Damages the files; not the newest, which is read in any case. */
function harm(disk: SimDisk, random: Random): void {
	const names = logFiles(disk).slice(0, -1);
	const name = names[Math.floor(random() * names.length)] ?? '';
	const inode = disk.names.get(name);
	if (inode === undefined) return;
	const { cached } = inode;
	const at = Math.floor(random() * cached.length);
	const kind = random();
	if (kind < 0.3) cached[at] = (cached[at] ?? 0) ^ 0x10;
	else if (kind < 0.5) cached.fill(0, at, Math.min(cached.length, at + 1 + Math.floor(random() * 3000)));
	else if (kind < 0.7) inode.cached = Buffer.from(cached.subarray(0, at));
	else if (kind < 0.8) cached.fill(0, 0, Math.min(cached.length, 1024));
	else if (kind < 0.9) cached.fill(0, 1024, Math.min(cached.length, 1060));
	else disk.names.delete(name);
}

function positionsOf(damage: readonly LogDamage[]): number[] {
	const lost = damage.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index));
	return [...new Set(lost)].sort((one, other) => one - other);
}

describe('a start that does not read all of the log', () => {
	it.each(Array.from({ length: 24 }, (_, seed) => seed))(
		'comes to the same as one that does (seed %i)',
		async (seed) => {
			const random = seededRandom(seed);
			const { disk, clock, book } = await writtenBy(random);
			const isHarmed = random() < 0.6;
			for (let count = 0; isHarmed && count <= random() * 3; count++) harm(disk, random);
			const files = new SimFiles(disk);
			const memory = { checkpoint: () => '{}', restore: () => undefined, replay: () => undefined };
			const options = { directory: DIRECTORY, files, memory, replayMs: REPLAY_MS, replayIdsMax: 1e9 };
			const names = await files.list(DIRECTORY);
			const whole = await recoverLog(names, { ...options, readsAll: true });
			const quick = await recoverLog(names, options);
			const { log, damage, restored, replayed, known } = await openSimLog({ disk, clock, limits: LIMITS });

			const { next, lastTime, strayFiles, voidFiles } = whole;
			expect(quick).toMatchObject({ next, lastTime, strayFiles, voidFiles });
			expect(quick.segments.map(({ first, epoch }) => [first, epoch])).toEqual(
				whole.segments.map(({ first, epoch }) => [first, epoch]),
			);
			for (const [index, segment] of whole.segments.entries()) {
				if (segment.lost.length > 0) continue;
				expect(quick.segments[index]?.summary()).toEqual(segment.summary());
				expect(quick.segments[index]).toMatchObject({
					hasCheckpoint: segment.hasCheckpoint,
					fileBytes: segment.fileBytes,
					lost: [],
				});
			}
			const texts = await readAll(log);
			expect(positionsOf(damage)).toEqual(positionsOf(whole.damage));

			const lost = new Set(positionsOf(whole.damage));
			const there = [...book.keys()].filter(
				(position) => position >= log.first && position < next && !lost.has(position),
			);
			expect(texts).toHaveLength(there.length);
			const from = restored.length === 0 ? log.first : Number(restored[0]?.slice('below '.length));
			const behind = there.filter((position) => position >= from).sort((one, other) => one - other);
			expect(replayed.map(({ position }) => position)).toEqual(behind);
			const idsFrom = (whole.segments.at(-1)?.time ?? 0) - REPLAY_MS;
			const young = there.filter((position) => {
				const { id, time } = book.get(position) as Appended;
				return position < from && id !== undefined && time >= idsFrom;
			});
			expect(known.map(({ position }) => position)).toEqual(young.sort((one, other) => one - other));
		},
	);
});
