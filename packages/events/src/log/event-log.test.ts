import type { SpockError } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { failure, SimDisk, type SimFiles } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';
import { event, openSimLog, readAll } from '../../test/open-sim-log.ts';

const PAGE = { bytesMax: 1e6, eventsMax: 1000 };

/** A file system whose next sync waits. */
function hangingSync(files: SimFiles): { release(): void } {
	let resolve = (): void => undefined;
	const promise = new Promise<void>((settled) => {
		resolve = settled;
	});
	files.before = (operation) => (operation === 'sync' ? promise : undefined);
	return {
		release: () => {
			files.before = () => undefined;
			resolve();
		},
	};
}

describe('appending', () => {
	it('gives positions from 1 and commits what came in one tick by one sync', async () => {
		const { log, files } = await openSimLog();
		expect([log.append(event('a')), log.append(event('b')), log.next, log.persisted]).toEqual([1, 2, 3, 1]);
		await settle();
		expect([log.persisted, files.syncs]).toEqual([3, 1]);
		expect(await readAll(log)).toEqual(['a', 'b']);
	});

	it('gathers what comes while a sync runs, and shows none of it before it is on disk', async () => {
		const { log, files } = await openSimLog();
		const sync = hangingSync(files);
		log.append(event('a'));
		await settle();
		for (const text of ['b', 'c', 'd']) log.append(event(text));
		await settle();
		expect([log.persisted, await readAll(log)]).toEqual([1, []]);
		sync.release();
		await settle();
		expect([log.persisted, files.syncs]).toEqual([5, 2]);
		expect(await readAll(log)).toEqual(['a', 'b', 'c', 'd']);
	});

	it('refuses what would not fit into memory while the disk hangs', async () => {
		const { log, files } = await openSimLog({ limits: { pendingBytesMax: 1000 } });
		const sync = hangingSync(files);
		log.append(event('x'.repeat(500)));
		expect(() => log.append(event('x'.repeat(500)))).toThrow(
			expect.objectContaining({ code: 'OVERLOADED' }) as SpockError,
		);
		sync.release();
		await settle();
		expect(log.append(event('x'.repeat(500)))).toBe(2);
	});

	it('moves what a failed sync has left to a new file, notes too, wherever in memory it is', async () => {
		const { log, files, clock } = await openSimLog({ limits: { segmentBytes: 1_000_000, bytesMax: 4_000_000 } });
		log.append(event('a'));
		await settle();
		const failOnce = async (append: () => void): Promise<void> => {
			files.before = (operation) => (operation === 'sync' ? Promise.reject(failure('EIO')) : undefined);
			append();
			await settle();
			files.before = () => undefined;
			await clock.advance(10_000);
			await settle();
		};
		// Longer than a piece of memory, so it has one of its own.
		const long = 'x'.repeat(200_000);
		await failOnce(() => log.append(event(long)));
		await failOnce(() => {
			log.append({ kind: 'note', of: 'groups', text: '{}' });
			log.append(event('b'));
		});
		expect(log.persisted).toBe(log.next);
		expect(await readAll(log)).toEqual(['a', long, 'b']);
	});

	it('refuses limits that leave no room for four segments', async () => {
		await expect(openSimLog({ limits: { segmentBytes: 8192, bytesMax: 4 * 8192 - 1 } })).rejects.toThrow(RangeError);
	});

	it('never lets the time of records go back', async () => {
		const { log, clock } = await openSimLog();
		log.append(event('a'));
		clock.wallOffsetMs = -86_400_000;
		log.append(event('b'));
		await settle();
		const [a, b] = (await log.read(1, PAGE)).events;
		expect(b?.time).toBe(a?.time);
	});

	it('keeps every field, of any text', async () => {
		const disk = new SimDisk();
		const { log, claims } = await openSimLog({ disk });
		const full = { ...event('{"payload":"Zürich 🚀"}', 'a.b-c_d', 2 ** 47), epoch: 7, key: 'schlüssel', id: 'id-1' };
		log.append(full);
		log.append({ kind: 'note', of: 'groups', text: '{"x":"é"}' });
		await settle();
		expect((await log.read(1, PAGE)).events).toMatchObject([full]);
		claims.die();
		const { log: again, replayed } = await openSimLog({ disk });
		expect((await again.read(1, PAGE)).events).toMatchObject([full]);
		const { key: _key, text: _text, ...needed } = full;
		expect(replayed).toEqual([
			{ ...needed, position: 1, time: expect.any(Number) },
			expect.objectContaining({ kind: 'note', of: 'groups', text: '{"x":"é"}', position: 2 }),
		]);
	});
});

describe('reading', () => {
	it.each([
		['from memory', 4 * 1024 * 1024],
		['from disk', 1],
	])('%s: pages in order, by stream, and each read advances', async (_, recentBytesMax) => {
		const { log } = await openSimLog({ limits: { recentBytesMax } });
		for (let index = 0; index < 300; index++)
			log.append(event(`${index}`.padEnd(150), index % 100 === 0 ? 'rare' : 'orders'));
		await settle();
		await settle();
		expect(log.segments.length).toBeGreaterThan(3);
		expect((await readAll(log)).map(Number)).toEqual(Array.from({ length: 300 }, (__, index) => index));
		expect((await readAll(log, 'rare')).map(Number)).toEqual([0, 100, 200]);
		expect(await log.read(3, { stream: 'none', ...PAGE })).toEqual({ events: [], next: 301 });
		const { events, next } = await log.read(5, { bytesMax: 1, eventsMax: 10 });
		expect([events.length, events[0]?.position, next]).toEqual([1, 5, 6]);
		expect(await log.read(301, PAGE)).toEqual({ events: [], next: 301 });
	});

	it('finds the first record of a time', async () => {
		const { log, clock } = await openSimLog();
		const times: number[] = [];
		for (let index = 0; index < 120; index++) {
			times.push(clock.wallNow());
			log.append(event('x'.repeat(300)));
			await clock.advance(10);
		}
		expect(await log.positionAt(0)).toBe(1);
		expect(await log.positionAt((times[77] ?? 0) - 3)).toBe(78);
		expect(await log.positionAt(clock.wallNow())).toBe(121);
	});
});

describe('a start', () => {
	it('restores the newest checkpoint, replays what is behind it, and of the rest events whose ids are needed', async () => {
		const disk = new SimDisk();
		const { log, claims, clock } = await openSimLog({ disk });
		for (let index = 0; index < 100; index++) {
			log.append({ ...event(`${index}`.padEnd(300)), id: index % 2 === 0 ? `${index}` : undefined });
			await clock.advance(1000);
		}
		claims.die();
		const again = await openSimLog({ disk, limits: { replayMs: 30_000 } });
		expect([again.log.first, again.log.next]).toEqual([1, 101]);
		const [from] = again.replayed;
		expect(again.restored).toEqual([`below ${from?.position}`]);
		expect(from?.position).toBeGreaterThan(80);
		const ids = again.known.map((record) => (record.kind === 'event' ? record.id : undefined));
		const [oldest] = ids;
		expect(Number(oldest)).toBeLessThanOrEqual((from?.position ?? 0) - 30);
		expect(ids).toEqual(ids.map((_, index) => `${Number(oldest) + 2 * index}`));
		expect(again.known.at(-1)?.position).toBeGreaterThanOrEqual((from?.position ?? 0) - 2);
		expect(again.replayed.map(({ position }) => position)).toEqual(
			Array.from({ length: 101 - (from?.position ?? 0) }, (_, index) => (from?.position ?? 0) + index),
		);
		again.log.append(event('next'));
		await settle();
		expect((await readAll(again.log)).at(-1)).toBe('next');
	});

	it('is refused while another process has the log', async () => {
		const { claims, files } = await openSimLog();
		await expect(openSimLog({ claims, files })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	});

	it('is refused by the log of a newer program, which stays as it is', async () => {
		const disk = new SimDisk();
		const { log, claims } = await openSimLog({ disk });
		log.append(event('a'));
		await settle();
		claims.die();
		const { crc32 } = await import('node:zlib');
		for (const [name, inode] of disk.names) {
			if (!name.endsWith('.log')) continue;
			inode.cached.writeUInt32LE(2, 8);
			const crc = crc32(inode.cached.subarray(16, 64), crc32(inode.cached.subarray(0, 12)));
			inode.cached.writeUInt32LE(crc, 12);
		}
		const names = [...disk.names.keys()].filter((name) => name.endsWith('.log'));
		await expect(openSimLog({ disk })).rejects.toThrow('was written by a newer sidecar');
		expect([...disk.names.keys()].filter((name) => name.endsWith('.log'))).toEqual(names);
	});
});

describe('a disk', () => {
	it('that fails a sync: windows close, the records go into a new segment, windows open', async () => {
		const { log, files, disk, clock, states, windows, failures, claims } = await openSimLog();
		log.append(event('a'));
		await settle();
		let failing = 2;
		files.before = (operation) => (operation === 'sync' && failing-- > 0 ? Promise.reject(failure('EIO')) : undefined);
		log.append(event('b'));
		log.append(event('c'));
		await settle();
		expect([log.state, log.reason, log.persisted]).toEqual(['broken', 'the disk fails: EIO', 2]);
		log.append(event('d'));
		await clock.advance(20_000);
		expect([log.persisted, states, windows]).toEqual([5, ['receiving', 'broken', 'receiving'], [true, false, true]]);
		expect(failures.map(({ details }) => details['code'])).toEqual(['EIO', 'EIO']);
		expect(await readAll(log)).toEqual(['a', 'b', 'c', 'd']);
		claims.die();
		const { log: again, damage } = await openSimLog({ disk: disk.losePower(() => 0.5) });
		expect([await readAll(again), damage]).toEqual([['a', 'b', 'c', 'd'], []]);
	});

	it('that is full: blocked, nothing is lost, and on again when there is room', async () => {
		const { log, disk, clock, states } = await openSimLog();
		log.append(event('a'));
		await settle();
		disk.bytesMax = disk.bytes + 100;
		log.append(event('x'.repeat(5000)));
		await clock.advance(5000);
		expect([log.state, log.reason, log.persisted]).toEqual([
			'blocked',
			'the disk is full: it has no room left, or no inodes',
			2,
		]);
		disk.bytesMax = Number.POSITIVE_INFINITY;
		await clock.advance(20_000);
		expect([log.state, log.persisted, states]).toEqual(['receiving', 3, ['receiving', 'blocked', 'receiving']]);
	});

	it('has too little left: blocked until there is more, and what was taken is written', async () => {
		const disk = new SimDisk();
		disk.bytesMax = 100_000;
		const { log, clock, windows } = await openSimLog({ disk, limits: { freeBytesMin: 200_000 } });
		expect([log.state, windows]).toEqual(['blocked', [true, false]]);
		expect(log.reason).toContain('must stay free');
		log.append(event('a'));
		await settle();
		expect(log.persisted).toBe(2);
		disk.bytesMax = 1_000_000;
		await clock.advance(1100);
		expect([log.state, windows]).toEqual(['receiving', [true, false, true]]);
	});

	it('that hangs delays acknowledgements, and not the end', async () => {
		const { log, files, clock, left, claims } = await openSimLog();
		hangingSync(files);
		log.append(event('a'));
		await settle();
		const closing = log.close(500);
		await clock.advance(499);
		expect(log.state).toBe('draining');
		await clock.advance(1);
		expect([await closing, left, log.state, claims.current]).toEqual([1, [1], 'released', undefined]);
	});
});

describe('a log', () => {
	it('as large as it may be takes what was sent, closes the windows, and opens them when segments went', async () => {
		const { log, states } = await openSimLog({ limits: { bytesMax: 40_000 } });
		for (let index = 0; index < 120; index++) log.append(event('x'.repeat(300)));
		await settle();
		await settle();
		expect([log.state, log.persisted, states]).toEqual(['blocked', 121, ['receiving', 'blocked']]);
		expect(log.reason).toMatch(/^the log is full: it has \d+ bytes, and may have 40000$/);
		log.trim(80);
		expect([log.state, log.reason]).toEqual(['receiving', undefined]);
	});

	it('that is handed over is on disk, whole, and free for its successor', async () => {
		const { log, claims, files } = await openSimLog();
		log.append(event('a'));
		await log.handOver();
		expect([log.state, log.persisted]).toEqual(['released', 2]);
		expect(() => log.append(event('b'))).toThrow('the log takes nothing: the log is handed over');
		const successor = await openSimLog({ claims, files });
		expect(await readAll(successor.log)).toEqual(['a']);
	});

	it('that is handed over to a disk that hangs reports what is left at the deadline', async () => {
		const { log, files, clock, left } = await openSimLog();
		hangingSync(files);
		log.append(event('a'));
		await settle();
		const handedOver = log.handOver();
		const closing = log.close(500);
		await clock.advance(500);
		await handedOver;
		expect([await closing, left, log.state]).toEqual([1, [1], 'released']);
	});

	it('that is closed writes what it has, and says so', async () => {
		const { log, left, clock } = await openSimLog();
		log.append(event('a'));
		expect([await log.close(1000), log.persisted, left, clock.pendingTimers]).toEqual([0, 2, [], 0]);
		expect(await log.close(1000)).toBe(0);
		await log.handOver();
	});
});
