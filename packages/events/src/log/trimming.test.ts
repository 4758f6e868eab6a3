import { settle } from '@spock/testkit';
import { failure } from '@spock/testkit/sim-files';
import { describe, expect, it } from 'vitest';
import { event, openSimLog, readAll } from '../../test/open-sim-log.ts';

const PAGE = { bytesMax: 1e6, eventsMax: 1000 };

describe('deleting', () => {
	it('takes whole segments, of which all is done, and the log begins behind them', async () => {
		const { log, disk } = await openSimLog();
		for (let index = 0; index < 100; index++) log.append(event(`${index}`.padEnd(300)));
		await settle();
		await settle();
		const [one, two, three] = log.segments;
		log.trim((two?.next ?? 0) + 1);
		await settle();
		expect(log.first).toBe(three?.first);
		expect([...disk.names.keys()].filter((name) => name.includes(`${one?.first}-1.log`.padStart(22, '0')))).toEqual([]);
		expect((await readAll(log)).map(Number)[0]).toBe((three?.first ?? 0) - 1);
		log.trim(Number.POSITIVE_INFINITY);
		expect(log.segments).toHaveLength(1);
		expect((await log.read(1, PAGE)).next).toBeGreaterThanOrEqual(log.first);
	});

	it('also takes what is in front of a write that failed, once anything follows', async () => {
		const { log, files, clock } = await openSimLog();
		log.append(event('first'));
		await settle();
		files.before = (operation) => (operation === 'sync' ? Promise.reject(failure('EIO')) : undefined);
		log.append(event('of the write that failed'));
		await settle();
		files.before = () => undefined;
		await clock.advance(10_000);
		log.append(event('behind it'));
		await settle();
		log.trim(3);
		await settle();
		expect([log.first, await readAll(log)]).toEqual([3, ['behind it']]);
	});

	it('leaves the newest segment that is on disk, while the next one cannot be written', async () => {
		const { log, files, disk, claims } = await openSimLog();
		log.append(event('x'.repeat(9000)));
		await settle();
		files.before = (operation) => (operation === 'create' ? Promise.reject(failure('ENOSPC')) : undefined);
		log.append(event('y'.repeat(9000)));
		await settle();
		expect([log.segments.length, log.persisted]).toEqual([2, 2]);
		log.trim(2);
		await settle();
		claims.die();
		const again = await openSimLog({ disk: disk.losePower(() => 0.5) });
		expect(again.log.next).toBe(2);
	});

	it('during a read gives what is left', async () => {
		const { log } = await openSimLog();
		for (let index = 0; index < 100; index++) log.append(event(`${index}`.padEnd(300)));
		await settle();
		await settle();
		const reading = log.read(1, PAGE);
		log.trim(60);
		const { events, next } = await reading;
		expect(next).toBeGreaterThan(1);
		expect(events.every(({ position, text }) => Number(text) === position - 1)).toBe(true);
	});
});
