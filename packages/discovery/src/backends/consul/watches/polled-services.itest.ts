import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import {
	atRest,
	INDEX_QUERIES,
	names,
	polledSite,
	servicesAsked,
	setAll,
	watchAll,
} from '../../../../test/polled-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';

describe('services that are polled', () => {
	it('are not read while the index of the catalog stays', async () => {
		await using site = await polledSite(6);
		const before = site.fake.requests.length;
		await site.clock.advance(50_000);
		expect(site.fake.requests).toHaveLength(before);
	});

	it.each<[string, (site: Awaited<ReturnType<typeof polledSite>>) => void]>([
		['of a check', ({ fake }) => fake.set('s3', [{ id: 'changed', checks: [{ status: 'critical' }] }])],
		['of what is registered', ({ fake }) => fake.set('s3', [{ id: 'changed', checks: [] }])],
	])('are all read after a change %s, and once more a second later', async (_what, change) => {
		await using site = await polledSite(6);
		const { clock, fake } = site;
		const before = fake.requests.length;
		change(site);
		await waitFor('the change', () => site.answer('s3')?.[0]?.instance === 'node-1/changed');
		const read = (): number[] =>
			names(6).map((name) => servicesAsked(fake, before).filter((asked) => asked === name).length);
		// The server that answered may have lagged.
		await waitFor('the second reads', async () => {
			await clock.advance(100);
			return read()
				.slice(1)
				.every((count) => count === 2);
		});
		await waitFor('what is held', () => fake.blocked === 1 + INDEX_QUERIES);
		const after = fake.requests.length;
		await clock.advance(5000);
		expect(servicesAsked(fake, after)).toEqual([]);
	});

	it('are read again where an instance is registered under another name, although the index of the old one stays', async () => {
		await using site = await polledSite(4);
		const { fake } = site;
		fake.rename('s2', 's3');
		await waitFor('the old name', () => site.answer('s2')?.length === 0);
		await waitFor('the new name', () => site.answer('s3')?.[0]?.instance === 'node-1/s2');
	});

	it('are seen to have changed on a server that did not know of it at the first read', async () => {
		await using site = await polledSite(2);
		const { clock, fake } = site;
		const before = fake.requests.length;
		fake.lag('s1');
		fake.set('s1', [{ id: 's1', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the first read', () => servicesAsked(fake, before).includes('s1'));
		expect(site.answer('s1')?.[0]?.meta).toEqual({});
		fake.lag(undefined);
		await waitFor('the edit', async () => {
			await clock.advance(100);
			return site.answer('s1')?.[0]?.meta['edited'] === 'yes';
		});
	});

	it('are read within a moment after the servers were restored from a snapshot', async () => {
		await using site = await polledSite(4);
		const { clock, fake } = site;
		fake.restore(5, 's2', [{ id: 'older', checks: [] }]);
		await waitFor('the older state', async () => {
			await clock.advance(50);
			return site.answer('s2')?.[0]?.instance === 'node-1/older';
		});
		expect(site.answer('s1')?.[0]?.instance).toBe('node-1/s1');
	});

	it('of a peer, which the catalog does not have, are read each second', async () => {
		await using site = await polledSite(2);
		const { clock, fake } = site;
		const told = site.one.watch({ service: 's1', peer: 'east' });
		await waitFor('the answer', () => told.answers.length === 1);
		const before = fake.requests.length;
		await waitFor('five reads', async () => {
			await clock.advance(500);
			return servicesAsked(fake, before).length >= 5;
		});
		expect(told.metas.every((meta) => meta?.isUnconfirmed === undefined)).toBe(true);
	});

	it('are verified by every answer of the index that has not moved, as the very same list', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock, 1 + INDEX_QUERIES);
		const told = all.get('s2')?.answers ?? [];
		const before = told.length;
		await clock.advance(60_000);
		await waitFor('the verification', () => told.length > before);
		expect(told.at(-1)).toBe(told[before - 1]);
	});
});

describe('while others change all the time', () => {
	it('no minute has more queries than are allowed, and what was not confirmed in time is reported as such', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		setAll(fake, 41);
		await using one = watchedMany([fake.url], { heldMax: 1, clock, pollsPerMinuteMax: 120 });
		const all = new Map(names(41).map((name) => [name, one.watch(name)]));
		await waitFor('all answers', async () => {
			await clock.advance(500);
			return [...all.values()].every(({ answers }) => answers.length > 0);
		});
		const perMinute: number[] = [];
		for (let minute = 0; minute < 3; minute++) {
			const before = fake.requests.length;
			for (let tick = 0; tick < 60; tick++) {
				fake.set('foreign', [{ id: String(tick), checks: [] }]);
				await waitFor('the held one', () => fake.blocked >= 1);
				await clock.advance(1000);
			}
			perMinute.push(servicesAsked(fake, before).filter((name) => name !== 's0').length);
		}
		for (const count of perMinute) expect(count).toBeLessThanOrEqual(120);
		const metas = [...all.values()].slice(1).flatMap((told) => told.metas);
		expect(metas.some((meta) => meta?.isUnconfirmed && meta.ageMs > 10_000)).toBe(true);
		expect(metas.every((meta) => meta?.isUnconfirmed || (meta?.ageMs ?? 0) <= 10_000)).toBe(true);
	});

	it('what nobody watches costs nothing', async () => {
		await using site = await polledSite(10);
		const { all, clock, fake } = site;
		for (const [name, { stop }] of all) if (name !== 's0' && name !== 's9') stop();
		const before = fake.requests.length;
		for (let edit = 0; edit < 10; edit++) {
			fake.set('foreign', [{ id: String(edit) }]);
			await clock.advance(1000);
		}
		expect(new Set(servicesAsked(fake, before))).toEqual(new Set(['s9']));
	});
});
