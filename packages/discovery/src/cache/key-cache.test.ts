import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { fakeKeySource, keyRecorder, unavailable } from '../../test/fake-key-source.ts';

const limits = { key: 'app/limits' };
const five = [{ key: 'app/limits', value: '5' }];

describe('the cache of keys', () => {
	it('thirty-two readers and a hundred reads share one watch', async () => {
		const { keys, watching, last } = fakeKeySource();
		const readers = Array.from({ length: 32 }, () => keyRecorder());
		for (const reader of readers) keys.watch(limits, reader);
		const reads = Promise.all(Array.from({ length: 100 }, () => keys.get(limits)));
		expect(watching).toHaveLength(1);
		last().answered(five);
		for (const { seen } of readers) expect(seen).toHaveLength(1);
		expect(new Set(await reads).size).toBe(1);
		expect(keys.peek(limits)).toMatchObject({ ...limits, value: '5', revision: 1, source: 'live', ageMs: 0 });
	});

	it('a key and a prefix of the same text are two questions', async () => {
		const { keys, watching } = fakeKeySource();
		keys.watch({ key: 'app/' }, keyRecorder());
		keys.watch({ key: 'app/', prefix: true }, keyRecorder());
		keys.watch({ key: 'app/', prefix: false }, keyRecorder());
		expect(watching.map(({ query }) => query)).toEqual([{ key: 'app/' }, { key: 'app/', prefix: true }]);
		watching[1]?.observer.answered(five);
		expect(keys.peek({ key: 'app/', prefix: true })).toMatchObject({ prefix: true, entries: five });
		expect(keys.peek({ key: 'app/' })).toBeUndefined();
	});

	it('no such key is an answer, and its birth and end are changes with a revision of their own', () => {
		const { keys, last } = fakeKeySource();
		const reader = keyRecorder();
		keys.watch(limits, reader);
		last().answered([]);
		last().answered(five);
		last().answered([{ key: 'app/limits', value: '5' }]);
		last().answered([]);
		expect(reader.seen.map((snapshot) => [snapshot.revision, 'value' in snapshot && snapshot.value])).toEqual([
			[1, null],
			[2, '5'],
			[3, null],
		]);
	});

	it('an outage keeps the last known answer, told once as stale, with an age that grows', async () => {
		const { keys, last, clock, events } = fakeKeySource();
		const reader = keyRecorder();
		keys.watch(limits, reader);
		last().answered(five);
		await clock.advance(3000);
		last().failed(unavailable);
		last().failed(unavailable);
		await clock.advance(2000);
		expect(reader.seen).toHaveLength(2);
		expect(reader.seen[1]).toMatchObject({ value: '5', source: 'last-known-good', revision: 2, ageMs: 3000 });
		expect(await keys.get(limits)).toMatchObject({ value: '5', source: 'last-known-good', ageMs: 5000 });
		last().answered(five);
		expect(reader.seen[2]).toMatchObject({ value: '5', source: 'live', revision: 3, ageMs: 0 });
		expect(events.map(({ type }) => type)).toEqual([
			'key-published',
			'watch-failed',
			'key-published',
			'watch-recovered',
			'key-published',
		]);
	});

	it('past staleMaxMs nothing is served, and the error names the key', async () => {
		const { keys, last, clock } = fakeKeySource({ staleMaxMs: 1000 });
		keys.watch(limits, keyRecorder());
		last().answered(five);
		last().failed(unavailable);
		await clock.advance(1001);
		const late = expect(keys.get(limits, { timeoutMs: 10 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { key: 'app/limits', ageMs: 1011, staleMaxMs: 1000 },
		});
		await clock.advance(10);
		await late;
	});

	it('without a first answer a read is refused with why: the error of the watch, or NOT_READY', async () => {
		const { keys, last, clock } = fakeKeySource();
		const waiting = expect(keys.get(limits, { timeoutMs: 50 })).rejects.toMatchObject({
			code: 'NOT_READY',
			details: { key: 'app/limits', waitedMs: 50 },
		});
		await clock.advance(50);
		await waiting;
		last().failed(new SpockError('ACL_DENIED', 'no'));
		await expect(keys.get(limits)).rejects.toMatchObject({ code: 'ACL_DENIED' });
	});

	it('a question that nobody asks any more ends', async () => {
		const { keys, last, clock, watching, source } = fakeKeySource({ idleTtlMs: 1000 });
		const watch = keys.watch(limits, keyRecorder());
		last().answered(five);
		await clock.advance(5000);
		expect(watching[0]?.stopped).toBe(false);
		watch.stop();
		await clock.advance(2000);
		expect(watching[0]?.stopped).toBe(true);
		expect(source.keyWatches()).toEqual([]);
	});

	it('has a limit of its own, which services do not use up', async () => {
		const { keys, source } = fakeKeySource({ keyEntriesMax: 1 });
		source.watch({ service: 'barista' }, { next: () => undefined });
		keys.watch(limits, keyRecorder());
		expect(() => keys.watch({ key: 'other' }, keyRecorder())).toThrow(
			expect.objectContaining({ code: 'OVERLOADED', details: { entriesMax: 1 } }),
		);
	});

	it('status and events tell of keys, and never of a value', () => {
		const { keys, last, source, events } = fakeKeySource();
		keys.watch({ key: 'app/', prefix: true }, keyRecorder());
		last().answered([{ key: 'app/token', value: 'hush-hush' }]);
		last().failed(unavailable);
		expect(source.keyWatches()).toEqual([
			{
				key: 'app/',
				prefix: true,
				state: 'stale',
				revision: 2,
				entries: 1,
				readers: 1,
				ageMs: 0,
				error: 'Consul is away',
			},
		]);
		expect(JSON.stringify([source.keyWatches(), events])).not.toContain('hush');
	});

	it('a prefix without keys after one with some is held back; a key is not', async () => {
		const { keys, watching, last, clock, events } = fakeKeySource({ emptyHoldMs: 1000 });
		keys.watch({ key: 'app/', prefix: true }, keyRecorder());
		keys.watch(limits, keyRecorder());
		for (const { observer } of watching) observer.answered(five);
		for (const { observer } of watching) observer.answered([]);
		expect(keys.peek(limits)).toMatchObject({ value: null, source: 'live' });
		expect(keys.peek({ key: 'app/', prefix: true })).toMatchObject({
			entries: five,
			held: true,
			source: 'last-known-good',
		});
		await clock.advance(1000);
		// Asked anew before it is believed.
		last().answered([]);
		expect(keys.peek({ key: 'app/', prefix: true })).toMatchObject({ entries: [], source: 'live' });
		expect(events.filter(({ type }) => type === 'held')).toMatchObject([{ query: { key: 'app/' }, count: 1 }]);
	});

	it('maxAgeMs has the registry asked again, once for all who wait, and is UNAVAILABLE where it fails', async () => {
		const { keys, watching, last, clock } = fakeKeySource();
		keys.watch(limits, keyRecorder());
		last().answered(five);
		await clock.advance(5000);
		expect(await keys.get(limits, { maxAgeMs: 6000 })).toMatchObject({ value: '5' });
		const reads = Promise.all([keys.get(limits, { maxAgeMs: 100 }), keys.get(limits, { maxAgeMs: 100 })]);
		await clock.advance(0);
		expect(watching.map(({ stopped }) => stopped)).toEqual([true, false]);
		last().answered([{ key: 'app/limits', value: '6' }]);
		expect((await reads).map((read) => 'value' in read && read.value)).toEqual(['6', '6']);
		last().failed(unavailable);
		await clock.advance(200);
		const late = expect(keys.get(limits, { maxAgeMs: 100, timeoutMs: 50 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			details: { key: 'app/limits', maxAgeMs: 100 },
		});
		await clock.advance(50);
		await late;
	});

	it('close rejects who waits and ends the watches', async () => {
		const { keys, source, watching } = fakeKeySource();
		const waiting = expect(keys.get(limits)).rejects.toMatchObject({ code: 'CLOSED' });
		await source.close();
		await waiting;
		expect(watching[0]?.stopped).toBe(true);
	});
});
