import { settle } from '@spock/testkit';
import { failure, SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';
import { all, damage, logFiles, numbers, RECORDS, written } from '../../test/damage-log.ts';
import { event, openSimLog, readAll } from '../../test/open-sim-log.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import { RECORD_BYTES_MAX } from '../segments/record.ts';

describe('damage', () => {
	it('in the newest segment, of a record that was synced: no torn tail, so what is behind it is kept', async () => {
		const disk = await written();
		const newest = logFiles(disk).at(-1) ?? '';
		damage(disk, newest, 50);
		const { log, damage: found } = await openSimLog({ disk });
		expect(numbers(await readAll(log))).toEqual(all.filter((position) => position !== 50));
		expect(found).toEqual([{ file: newest.slice('/log/'.length), from: 50, to: 51 }]);
		expect(log.damaged).toBe(1);
		expect(disk.names.get(`${newest}.damaged`)?.cached).toEqual(disk.names.get(newest)?.cached);
	});

	it('in the last segment of a former owner, of one of the records that came last: no torn tail either', async () => {
		const disk = new SimDisk();
		const claims = new SimClaims();
		const { log: former } = await openSimLog({ disk, claims });
		for (let position = 1; position <= 5; position++) former.append(event(`${position}`.padEnd(300)));
		await settle();
		const { log } = await openSimLog({ disk, claims }, true);
		log.append(event('6'));
		await settle();
		const [first = ''] = logFiles(disk);
		damage(disk, first, 2);
		const { log: next, damage: found } = await openSimLog({ disk: disk.clone() });
		expect(numbers(await readAll(next))).toEqual([1, 3, 4, 5, 6]);
		expect(found).toEqual([{ file: first.slice('/log/'.length), from: 2, to: 3 }]);
	});

	it('of a header shows nothing of what a former owner wrote when that file was there', async () => {
		const disk = new SimDisk();
		const claims = new SimClaims();
		const { log: former } = await openSimLog({ disk, claims });
		former.append(event('former'));
		await settle();
		const { log } = await openSimLog({ disk, claims }, true);
		former.append(event('void'));
		for (let count = 0; count < 40; count++) log.append(event('x'.padEnd(300)));
		await settle();
		const [, second = '', third = ''] = logFiles(disk);
		disk.names.get(second)?.cached.fill(0, 0, 1024);
		const { log: next, damage: found } = await openSimLog({ disk: disk.clone() });
		const to = Number(third.slice('/log/'.length).split('-')[0]);
		expect(found).toEqual([{ file: second.slice('/log/'.length), from: 2, to }]);
		expect((await readAll(next)).map((text) => text.trim())).toEqual(['former', ...Array(42 - to).fill('x')]);
	});

	it('of one copy of a header costs nothing', async () => {
		const disk = await written();
		for (const name of logFiles(disk)) disk.names.get(name)?.cached.fill(0, 0, 512);
		const { log, damage: found } = await openSimLog({ disk });
		expect([numbers(await readAll(log)), found]).toEqual([all, []]);
	});

	it('of both copies of a header costs that segment, whose file is put aside', async () => {
		const disk = await written();
		const [, second = '', third = ''] = logFiles(disk);
		disk.names.get(second)?.cached.fill(0, 0, 1024);
		const { log, damage: found } = await openSimLog({ disk });
		const [from, to] = [second, third].map((name) => Number(name.slice('/log/'.length).split('-')[0]));
		expect(numbers(await readAll(log))).toEqual(
			all.filter((position) => position < (from ?? 0) || position >= (to ?? 0)),
		);
		expect(found).toMatchObject([{ from, to }]);
		expect([disk.names.has(second), disk.names.has(`${second}.damaged`)]).toEqual([false, true]);
	});

	it('of both copies of a header that is not the newest needs no look at its records', async () => {
		const disk = await written();
		const second = logFiles(disk)[1] ?? '';
		disk.names.get(second)?.cached.fill(0, 0, 1024);
		const files = new SimFiles(disk);
		const open = files.open.bind(files);
		let bytes = 0;
		files.open = async (path) => {
			const file = await open(path);
			if (path !== second) return file;
			const read = file.read.bind(file);
			file.read = (offset, length) => {
				bytes += length;
				return read(offset, length);
			};
			return file;
		};
		await openSimLog({ files });
		expect(bytes).toBeGreaterThan(0);
		expect(bytes).toBeLessThan(4096);
	});

	it('of both copies of the newest header is reported, and its positions are not given again', async () => {
		const disk = await written();
		const newest = logFiles(disk).at(-1) ?? '';
		const file = newest.slice('/log/'.length);
		const from = Number(file.split('-')[0]);
		disk.names.get(newest)?.cached.fill(0, 0, 1024);
		const { log, damage: found } = await openSimLog({ disk });
		expect(numbers(await readAll(log))).toEqual(all.filter((position) => position < from));
		expect(found).toEqual([{ file, from, to: RECORDS + 1 }]);
		expect(log.append(event('new'))).toBe(RECORDS + 1);
		expect(disk.names.has(`${newest}.damaged`)).toBe(true);
	});

	it('of a header that was never synced, nor what is behind it, is none', async () => {
		const disk = new SimDisk();
		const { log } = await openSimLog({ disk });
		for (const text of ['one', 'two']) log.append(event(text));
		await settle();
		const torn = disk.clone();
		torn.names.get(logFiles(torn)[0] ?? '')?.cached.fill(0, 0, 1024);
		const { log: again, damage: found } = await openSimLog({ disk: torn });
		expect([again.next, found]).toEqual([1, []]);
	});

	it('of a file that was deleted between others costs that segment', async () => {
		const disk = await written();
		const [, second = '', third = ''] = logFiles(disk);
		disk.names.delete(second);
		const { log, damage: found } = await openSimLog({ disk });
		const [from = 0, to = 0] = [second, third].map((name) => Number(name.slice('/log/'.length).split('-')[0]));
		expect(numbers(await readAll(log))).toEqual(all.filter((position) => position < from || position >= to));
		expect(found).toEqual([{ file: second.slice('/log/'.length), from, to }]);
		expect([...disk.names.keys()].filter((name) => name.endsWith('.damaged'))).toEqual([]);
	});

	it('of a checkpoint: an older one is restored', async () => {
		const disk = await written();
		const [, second = '', third = ''] = logFiles(disk);
		for (const name of [second, third]) disk.names.get(name)?.cached.fill(0, 1024, 1060);
		const { restored, replayed, log } = await openSimLog({ disk, limits: { replayMs: 0 } });
		expect([restored, replayed.length]).toEqual([['below 1'], RECORDS]);
		expect(numbers(await readAll(log))).toEqual(all);
	});

	it('is none of a checkpoint that is longer than any record', async () => {
		const disk = new SimDisk();
		const long = 'x'.repeat(RECORD_BYTES_MAX + 1);
		const memory = { checkpoint: () => long, restore: () => undefined, replay: () => undefined };
		const { log } = await openSimLog({ disk, memory });
		log.append(event('one'));
		await settle();
		const { restored, log: again, damage: found } = await openSimLog({ disk: disk.clone() });
		expect([restored.map((text) => text === long), await readAll(again), found]).toEqual([[true], ['one'], []]);
	});

	it('that appears while the log is open is reported once, and what is behind it is read', async () => {
		const disk = await written();
		const { log, damage: found } = await openSimLog({ disk });
		damage(disk, logFiles(disk)[0] ?? '', 5);
		for (let time = 0; time < 2; time++) {
			expect(numbers(await readAll(log))).toEqual(all.filter((position) => position !== 5));
		}
		expect(found).toMatchObject([{ from: 5, to: 6 }]);
	});

	it('of a whole segment that appears while the log is open is reported once', async () => {
		const disk = await written();
		const { log, damage: found } = await openSimLog({ disk });
		const [first = '', second = ''] = logFiles(disk);
		disk.names.get(first)?.cached.fill(0);
		const to = Number(second.slice('/log/'.length).split('-')[0]);
		for (let time = 0; time < 2; time++) {
			expect(numbers(await readAll(log))).toEqual(all.filter((position) => position >= to));
		}
		await log.read(3, { bytesMax: 1e6, eventsMax: 1000 });
		expect(found).toMatchObject([{ from: 1, to }]);
	});

	it.each([1, 2, 3, 4])(
		'of any kind never refuses a start, and nothing is read that was not written (seed %i)',
		async (seed) => {
			const random = seededRandom(seed);
			const whole = await written();
			for (let round = 0; round < 60; round++) {
				const disk = whole.clone();
				for (let count = 0; count <= random() * 4; count++) mutate(disk, random);
				const { log, damage: found, replayed } = await openSimLog({ disk, limits: { replayMs: 0 } });
				const read = await log.read(log.first, { bytesMax: 1e6, eventsMax: 1000 });
				for (const { position, text } of read.events) expect(Number(text)).toBe(position);
				for (const record of replayed) {
					expect(record).toMatchObject({ kind: 'event', stream: 'orders', producer: 'p', seq: 1 });
				}
				const positions = read.events.map(({ position }) => position);
				expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
				// What is missing in the middle was reported.
				const lost = new Set(
					found.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, index) => from + index)),
				);
				const [first = 0, last = 0] = [positions[0], positions.at(-1)];
				const missing = all.filter((position) => position > first && position < last && !positions.includes(position));
				expect(missing.filter((position) => !lost.has(position))).toEqual([]);
				const position = log.append(event('new'));
				await settle();
				expect((await log.read(position, { bytesMax: 1e6, eventsMax: 1 })).events).toMatchObject([{ text: 'new' }]);
			}
		},
	);
});

describe('records whose sync has failed', () => {
	it.each([0, 1, 5])('are durable once a later process has found them, where %i were synced before', async (synced) => {
		const half = () => 0.5;
		const disk = new SimDisk();
		const files = new SimFiles(disk, half);
		const { log } = await openSimLog({ files });
		for (let count = 0; count < synced; count++) {
			log.append(event(`synced ${count}`));
			await settle();
		}
		// Killed before it can remove the file.
		const never = new Promise<void>(() => undefined);
		files.before = (operation) => {
			if (operation === 'remove') return never;
			return operation === 'sync' ? Promise.reject(failure('EIO')) : undefined;
		};
		log.append(event('read from the memory of the kernel alone'));
		await settle();
		const next = await openSimLog({ disk });
		const found = await readAll(next.log);
		expect(found).toHaveLength(synced + 1);
		const { log: last } = await openSimLog({ disk: disk.losePower(half) });
		expect(await readAll(last)).toEqual(found);
	});

	it('refuse a start while they cannot be written', async () => {
		const disk = new SimDisk();
		const { log } = await openSimLog({ disk });
		log.append(event('one'));
		await settle();
		const files = new SimFiles(disk);
		files.before = (operation) => (operation === 'sync' ? Promise.reject(failure('EIO')) : undefined);
		await expect(openSimLog({ files })).rejects.toMatchObject({ code: 'EIO' });
	});
});

describe('blocks of a deleted file that appear behind the records of a new one', () => {
	/** Gives the texts that are found: of the new file `new`, of the old one, which nobody was told of, `old`. */
	async function reuse(random: () => number): Promise<string[]> {
		const disk = new SimDisk();
		const { log } = await openSimLog({ disk, random });
		log.append(event('first'));
		await settle();
		const before = disk.losePower(() => 0.5);
		for (const text of ['old 1', 'old 2']) log.append(event(text));
		await settle();
		const [old] = logFiles(disk).map((name) => disk.names.get(name)?.cached ?? Buffer.alloc(0));
		const again = await openSimLog({ disk: before, random });
		again.log.append(event('new 1'));
		await settle();
		const after = before.clone();
		const cached = after.names.get(logFiles(after)[1] ?? '')?.cached ?? Buffer.alloc(0);
		const end = cached.indexOf('new 1') + 5;
		old?.copy(cached, end, old.indexOf('old 1') + 5, old.indexOf('old 2') + 5);
		return readAll((await openSimLog({ disk: after })).log);
	}

	it('are not read', async () => {
		const random = seededRandom(1);
		expect(await reuse(random)).toEqual(['first', 'new 1']);
	});

	it('are read if all segments have the same salt', async () => {
		expect(await reuse(() => 0.5)).toEqual(['first', 'new 1', 'old 2']);
	});
});

function mutate(disk: SimDisk, random: () => number): void {
	const names = logFiles(disk);
	const inode = disk.names.get(names[Math.floor(random() * names.length)] ?? '');
	if (inode === undefined || inode.cached.length === 0) return;
	const { cached } = inode;
	const at = Math.floor(random() * cached.length);
	const length = Math.floor(random() ** 4 * 3000) + 1;
	const kind = random();
	if (kind < 0.3) cached[at] = (cached[at] ?? 0) ^ (1 << Math.floor(random() * 8));
	else if (kind < 0.5) cached.fill(0, at, Math.min(at + length, cached.length));
	else if (kind < 0.6) inode.cached = Buffer.from(cached.subarray(0, at));
	else if (kind < 0.8) cached.copyWithin(at, Math.floor(random() * cached.length), cached.length);
	else for (let index = at; index < Math.min(at + length, cached.length); index++) cached[index] = random() * 256;
}

describe('a file that is deleted while the log is open', () => {
	it('is damage, told once: what is behind it is read, and times are found', async () => {
		const disk = new SimDisk();
		const { log, damage: found, clock } = await openSimLog({ disk });
		const times: number[] = [];
		for (let position = 1; position <= RECORDS; position++) {
			times.push(clock.wallNow());
			log.append(event(`${position}`.padEnd(300)));
			if (position % 4 === 0) await settle();
			await clock.advance(1);
		}
		await settle();
		const [, deleted = ''] = logFiles(disk);
		const [, segment] = log.segments;
		const { first = 0, next = 0 } = segment ?? {};
		disk.names.delete(deleted);
		expect(await log.positionAt(times[first] ?? 0)).toBe(next);
		const rest = all.filter((position) => position < first || position >= next);
		expect(numbers(await readAll(log))).toEqual(rest);
		expect(numbers(await readAll(log, 'orders'))).toEqual(rest);
		expect(found).toEqual([{ file: deleted.slice('/log/'.length), from: first, to: next }]);
		expect(log.damaged).toBe(next - first);
	});
});

describe('a segment', () => {
	it('knows when its last event with an id came, or that it has none, also after a start', async () => {
		const disk = new SimDisk();
		const { log, clock } = await openSimLog({ disk });
		const begunAt = clock.wallNow();
		log.append({ ...event('1'.padEnd(5000)), id: 'a' });
		await clock.advance(10);
		log.append(event('2'.padEnd(5000)));
		log.append(event('3'.padEnd(200)));
		await settle();
		expect(log.segments.map(({ lastIdTime }) => lastIdTime)).toEqual([begunAt, undefined]);
		const again = await openSimLog({ disk: disk.clone() });
		expect(again.log.segments.map(({ lastIdTime }) => lastIdTime)).toEqual([begunAt, undefined]);
	});
});
