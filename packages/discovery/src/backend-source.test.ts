import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { chained } from '../test/chained-backends.ts';
import { A, B, createSource, instance, query, recorder, refused } from '../test/fake-backend-source.ts';
import { BackendSource } from './backend-source.ts';
import type { Backend } from './foundation/backend.ts';

describe('an outage', () => {
	it('the last known good is served with its age; going and coming back are changes with new revisions', async () => {
		const { source, last, clock } = createSource();
		const one = recorder();
		source.watch(query, one);
		last().answered(A);
		await clock.advance(1000);
		last().failed(refused);
		await clock.advance(2000);
		expect(source.peek(query)).toMatchObject({ source: 'last-known-good', ageMs: 3000, revision: 2, instances: A });
		expect(await source.get(query)).toMatchObject({ ageMs: 3000 });
		expect(source.peek(query)?.instances).toBe(A);
		last().answered([instance('a')]);
		expect(source.peek(query)).toMatchObject({ source: 'live', ageMs: 0, revision: 3 });
		expect(one.seen.map(({ revision, source: from, ageMs }) => [revision, from, ageMs])).toEqual([
			[1, 'live', 0],
			[2, 'last-known-good', 1000],
			[3, 'live', 0],
		]);
		expect(source.peek(query)?.instances).toBe(A);
	});

	it('the age counts from the last verification and not from the last change', async () => {
		const { source, last, clock } = createSource();
		source.watch(query, recorder());
		last().answered(A);
		await clock.advance(50_000);
		last().answered(A);
		await clock.advance(10);
		last().failed(refused);
		expect(source.peek(query)?.ageMs).toBe(10);
	});

	it('past staleMaxMs reads are UNAVAILABLE, and live again with the next answer', async () => {
		const { source, last, clock } = createSource({ staleMaxMs: 5000 });
		source.watch(query, recorder());
		last().answered(A);
		last().failed(refused);
		await clock.advance(5000);
		expect(source.peek(query)).toBeDefined();
		await clock.advance(1);
		expect(source.peek(query)).toBeUndefined();
		const late = expect(source.get(query, { timeoutMs: 100 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			cause: refused,
		});
		const patient = source.get(query, { timeoutMs: 200 });
		await clock.advance(100);
		await late;
		last().answered(A);
		expect(await patient).toMatchObject({ source: 'live' });
		expect(source.peek(query)).toMatchObject({ source: 'live' });
	});

	it('is told once when it begins and once when it ends', async () => {
		const { source, last, clock, events } = createSource();
		source.watch(query, recorder());
		last().failed(refused);
		await clock.advance(400);
		last().failed(refused);
		last().answered(A);
		expect(events.map((event) => event.type)).toEqual(['watch-failed', 'watch-recovered', 'published']);
		expect(events[1]).toMatchObject({ outageMs: 400, query });
		expect(events[2]).toMatchObject({ diff: { added: ['a'], removed: [], changed: [] } });
	});
});

describe('closing', () => {
	it('ends every watch, rejects whoever waits with CLOSED, leaves no timer, and does so once', async () => {
		const { source, watching, clock, last } = createSource();
		const one = recorder();
		source.watch({ service: 'other' }, one);
		last().answered(A);
		const read = source.get(query);
		await Promise.all([source.close(), source.close()]);
		await expect(read).rejects.toMatchObject({ code: 'CLOSED' });
		expect(watching.map(({ stopped }) => stopped)).toEqual([true, true]);
		expect(clock.pendingTimers).toBe(0);
		for (const { observer } of watching) observer.answered(B);
		expect(one.seen).toHaveLength(1);
		await expect(source.get(query)).rejects.toMatchObject({ code: 'CLOSED' });
		expect(() => source.watch(query, one)).toThrow(expect.objectContaining({ code: 'CLOSED' }));
		expect(source.peek({ service: 'other' })).toBeUndefined();
	});
});

describe('status', () => {
	it('says of every question what is known, how old it is, and why it fails', async () => {
		const { source, last, clock } = createSource();
		source.watch({ service: 'barista', tags: ['x'] }, recorder());
		expect(source.watches()).toMatchObject([{ state: 'cold', revision: 0, instances: 0, readers: 1, error: null }]);
		last().answered([instance('a'), { ...instance('b'), status: 'critical' }]);
		await clock.advance(10);
		expect(source.watches()).toEqual([
			{
				service: 'barista',
				tags: ['x'],
				state: 'fresh',
				revision: 1,
				instances: 2,
				healthyInstances: 1,
				readers: 1,
				ageMs: 0,
				error: null,
			},
		]);
		last().failed(refused);
		expect(source.watches()).toMatchObject([{ state: 'stale', ageMs: 10, error: 'refused' }]);
	});
});

describe('the list of services', () => {
	const entries = [{ name: 'barista', tags: [] }];

	function createListing() {
		const answers: (() => Promise<typeof entries>)[] = [];
		const created = createSource();
		const list = () => (answers.shift() ?? (() => Promise.resolve(entries)))();
		const backend: Backend = { ...created.backend, list };
		return { clock: created.clock, source: new BackendSource({ backend, clock: created.clock }), answers };
	}

	it('is live while the registry answers, and the last known one with its age while it does not', async () => {
		const { source, answers, clock } = createListing();
		const verifiedAt = clock.wallNow();
		expect(await source.list()).toEqual({ services: entries, source: 'live', ageMs: 0, verifiedAt });
		await clock.advance(1500);
		answers.push(() => Promise.reject(refused));
		expect(await source.list()).toEqual({ services: entries, source: 'last-known-good', ageMs: 1500, verifiedAt });
	});

	it('of several registries is as old as what a member out of reach said last', async () => {
		const { clock, first, second, chain } = chained();
		const source = new BackendSource({ backend: chain, clock });
		const verifiedAt = clock.wallNow();
		const { services } = await source.list();
		await clock.advance(1500);
		first.fail();
		expect(await source.list()).toEqual({ services, source: 'last-known-good', ageMs: 1500, verifiedAt });
		await clock.advance(500);
		second.fail();
		// Within a second the list is not asked for again, and still not live.
		expect(await source.list()).toEqual({ services, source: 'last-known-good', ageMs: 2000, verifiedAt });
		await clock.advance(500);
		expect(await source.list()).toEqual({ services, source: 'last-known-good', ageMs: 2500, verifiedAt });
		first.answer();
		second.answer();
		await clock.advance(1000);
		expect(await source.list()).toEqual({ services, source: 'live', ageMs: 0, verifiedAt: clock.wallNow() });
		await source.close();
	});

	it('fails when nothing is known, and when the token is denied', async () => {
		const { source, answers, clock } = createListing();
		answers.push(() => Promise.reject(refused));
		await expect(source.list({}, { timeoutMs: 1 })).rejects.toBe(refused);
		await source.list();
		await clock.advance(1000);
		const denied = new SpockError('ACL_DENIED', 'no');
		answers.push(() => Promise.reject(denied));
		await expect(source.list()).rejects.toBe(denied);
		answers.push(() => Promise.reject(refused));
		await expect(source.list({ datacenter: 'other' }, { timeoutMs: 1 })).rejects.toBe(refused);
	});
});

it('a backend that throws instead of giving its status is down, with its reason', () => {
	const status = (): never => {
		throw new Error('no status today');
	};
	const backend = { name: 'moody', watch: () => ({}), list: async () => [], status, close: async () => undefined };
	const source = new BackendSource({ backend: backend as unknown as Backend });
	expect(source.status()).toMatchObject({
		name: 'moody',
		state: 'down',
		error: "the backend's status failed: no status today",
	});
});
