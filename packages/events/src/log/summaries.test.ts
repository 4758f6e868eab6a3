import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

import { FakeClock, settle } from '@spock/testkit';
import { failure, SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';
import { all, damage, logFiles, numbers, RECORDS, written } from '../../test/damage-log.ts';
import { DIRECTORY, event, openSimLog, readAll, type SimLog } from '../../test/open-sim-log.ts';
import { inspectLog } from './inspect-log.ts';

/** What a start of this disk has read of each file, in bytes. */
async function readAtStart(disk: SimDisk): Promise<{ opened: SimLog; bytesOf: (path: string) => number }> {
	const files = new SimFiles(disk);
	const bytes = new Map<string, number>();
	const open = files.open.bind(files);
	files.open = async (path) => {
		const file = await open(path);
		const read = file.read.bind(file);
		file.read = async (offset, length) => {
			const found = await read(offset, length);
			bytes.set(path, (bytes.get(path) ?? 0) + found.length);
			return found;
		};
		return file;
	};
	return { opened: await openSimLog({ files }), bytesOf: (path) => bytes.get(path) ?? 0 };
}

async function append({ log }: SimLog, count: number, record = event('x'.padEnd(300))): Promise<void> {
	for (let index = 0; index < count; index++) {
		log.append(record);
		if (index % 4 === 0) await settle();
	}
	await settle();
}

/** In a segment as large as this no preamble is as long. */
const LIMITS = { segmentBytes: 200_000, bytesMax: 10_000_000 };

describe('a start', () => {
	it('reads only what the segments in front of the newest begin with, and knows as much of them', async () => {
		const disk = new SimDisk();
		const before = await openSimLog({ disk, limits: LIMITS });
		for (const stream of ['orders', 'bills']) await append(before, 1000, event('x'.padEnd(300), stream));
		const { opened, bytesOf } = await readAtStart(disk.clone());
		const files = logFiles(disk);
		expect(files.length).toBeGreaterThan(3);
		for (const file of files.slice(0, -1)) expect(bytesOf(file)).toBeLessThan(40_000);
		expect(opened.log.segments.map((segment) => [segment.first, segment.next, segment.lastTime])).toEqual(
			before.log.segments.map((segment) => [segment.first, segment.next, segment.lastTime]),
		);
		expect(opened.log.segments.map(({ streams }) => streams)).toEqual(
			before.log.segments.map(({ streams }) => streams),
		);
		expect([opened.log.lastOf('orders'), opened.log.lastOf('bills')]).toEqual([1000, 2000]);
		expect(await readAll(opened.log, 'bills')).toHaveLength(1000);
	});

	it('knows that a segment may hold a stream that it does not count', async () => {
		const disk = new SimDisk();
		const before = await openSimLog({ disk, limits: LIMITS });
		for (let count = 0; count < 1100; count++) before.log.append(event('x', `s${count}`));
		await append(before, 800);
		const { log } = await openSimLog({ disk: disk.clone(), limits: LIMITS });
		expect(log.segments.map((segment) => segment.mayHold('none', 1))).toEqual([true, false, false]);
		expect(await readAll(log, 's1099')).toEqual(['x']);
	});

	it('reads the segments that hold the newest ids, as many as are needed', async () => {
		const disk = new SimDisk();
		await append(await openSimLog({ disk }), 100, { ...event('x'.padEnd(300)), id: 'some' });
		const { log, known, replayed } = await openSimLog({ disk: disk.clone(), limits: { replayIdsMax: 30 } });
		const [newest] = replayed;
		expect(known.length).toBeGreaterThanOrEqual(30);
		expect(known.length).toBeLessThan(60);
		expect(known.at(-1)?.position).toBe((newest?.position ?? 0) - 1);
		expect(log.segments.length).toBeGreaterThan(4);
	});

	it('reads what was written by a program that sums nothing up', async () => {
		const disk = new SimDisk();
		const fixture = new URL('../../test/log-without-summaries.json', import.meta.url);
		const old = JSON.parse(readFileSync(fixture, 'utf8')) as Record<string, string>;
		for (const [name, text] of Object.entries(old)) {
			const file = await new SimFiles(disk).create(`${DIRECTORY}/${name}`);
			await file.write([gunzipSync(Buffer.from(text, 'base64'))], 0);
		}
		const { log, damage: found, restored, replayed } = await openSimLog({ disk });
		const texts = await readAll(log);
		expect([numbers(texts), found]).toEqual([all, []]);
		expect(Number(restored[0]?.slice('below '.length)) + replayed.length).toBe(RECORDS + 1);
		for (let count = 0; count < 60; count++) log.append(event('new'.padEnd(300)));
		await settle();
		expect(await readAll((await openSimLog({ disk: disk.clone() })).log)).toHaveLength(RECORDS + 60);
	});
});

describe('damage of an old segment', () => {
	it('is found when it is read, and by a look at all of the log: the rest is read', async () => {
		const disk = await written();
		const [first = ''] = logFiles(disk);
		for (const position of [3, 4, 9]) damage(disk, first, position);
		const file = first.slice('/log/'.length);
		const gaps = [
			{ file, from: 3, to: 5 },
			{ file, from: 9, to: 10 },
		];
		expect((await inspectLog(DIRECTORY, new SimFiles(disk))).damage).toEqual(gaps);
		const { log, damage: found } = await openSimLog({ disk });
		expect(found).toEqual([]);
		for (let time = 0; time < 2; time++) {
			expect(numbers(await readAll(log))).toEqual(all.filter((position) => ![3, 4, 9].includes(position)));
		}
		expect(found).toEqual(gaps);
		expect(log.damaged).toBe(3);
	});

	it('that makes it shorter is found at the start, and a copy is put aside', async () => {
		const disk = await written();
		const [first = '', second = ''] = logFiles(disk);
		const inode = disk.names.get(first);
		if (inode !== undefined) inode.cached = inode.cached.subarray(0, 5000);
		const to = Number(second.slice('/log/'.length).split('-')[0]);
		const { log, damage: found } = await openSimLog({ disk });
		const [{ from } = { from: 0 }] = found;
		expect(found).toEqual([{ file: first.slice('/log/'.length), from, to }]);
		expect(numbers(await readAll(log))).toEqual(all.filter((position) => position < from || position >= to));
		expect(disk.names.has(`${first}.damaged`)).toBe(true);
	});

	it('is found at the start where the one behind it cannot say what it holds', async () => {
		const disk = await written();
		const [first = '', second = ''] = logFiles(disk);
		damage(disk, first, 3);
		disk.names.get(second)?.cached.fill(0, 1100, 1110);
		const { damage: found } = await openSimLog({ disk });
		expect(found).toEqual([{ file: first.slice('/log/'.length), from: 3, to: 4 }]);
	});
});

describe('nothing is said of a segment', () => {
	/** Whether a start with this disk finds, without a read, that the first record of its first segment is bad. */
	async function readsFirst(disk: SimDisk): Promise<boolean> {
		const after = disk.clone();
		const [first = ''] = logFiles(after);
		const bytes = after.names.get(first)?.cached ?? Buffer.alloc(0);
		bytes[bytes.indexOf('bad') + 10] = 0x41;
		return (await openSimLog({ disk: after })).damage.length > 0;
	}

	it('whose sync has failed', async () => {
		const disk = new SimDisk();
		const files = new SimFiles(disk);
		const clock = new FakeClock();
		const opened = await openSimLog({ files, clock });
		await append(opened, 1, event('bad'.padEnd(300)));
		await append(opened, 4);
		let isFailing = true;
		files.before = (operation) => (isFailing && operation === 'sync' ? Promise.reject(failure('EIO')) : undefined);
		await append(opened, 1);
		isFailing = false;
		await clock.advance(10_000);
		await append(opened, 100);
		expect(await readsFirst(disk)).toBe(true);
	});

	it.each([true, false])('that its owner had not ended when it was claimed (ended: %s)', async (isEnded) => {
		const disk = new SimDisk();
		const claims = new SimClaims();
		const opened = await openSimLog({ disk, claims });
		await append(opened, 1, event('bad'.padEnd(300)));
		await append(opened, 4);
		if (isEnded) await opened.log.handOver();
		const next = await openSimLog({ disk, claims }, !isEnded);
		await append(next, 100);
		expect(await readsFirst(disk)).toBe(!isEnded);
	});
});
