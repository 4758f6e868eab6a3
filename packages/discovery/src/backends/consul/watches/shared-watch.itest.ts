import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import {
	atRest,
	isLook,
	names,
	servicesAsked,
	servicesRead,
	setAll,
	sharedSite,
	watchAll,
} from '../../../../test/shared-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';

describe('a change under a shared watch', () => {
	it('of a check is read again at once, and nothing else is', async () => {
		await using site = await sharedSite(4, { before: (consul) => setAll(consul, 4, [{ status: 'passing' }]) });
		const { fake } = site;
		const before = fake.requests.length;
		fake.set('s1', [{ id: 's1', checks: [{ status: 'critical' }] }]);
		await waitFor('the change', () => site.answer('s1')?.[0]?.status === 'critical');
		expect(servicesRead(fake, before)).toEqual(['s1']);
	});

	it("of a node's own check concerns every service on that node, and no other", async () => {
		await using site = await sharedSite(4, {
			consul: {},
			before: (consul) => {
				consul.set('s0', [{ id: 'z', node: 'n3' }]);
				consul.set('s1', [{ id: 'a', node: 'n1' }]);
				consul.set('s2', [{ id: 'b', node: 'n1' }]);
				consul.set('s3', [{ id: 'c', node: 'n2' }]);
				consul.setNodeCheck('n1', 'passing');
			},
		});
		const { fake } = site;
		const before = fake.requests.length;
		fake.setNodeCheck('n1', 'critical');
		await waitFor('the failure', () => ['s1', 's2'].every((name) => site.answer(name)?.[0]?.status === 'critical'));
		expect(servicesAsked(fake, before).slice(0, 3)).toEqual(expect.arrayContaining(['s1', 's2']));
		expect(site.answer('s3')?.[0]?.status).toBe('passing');
	});

	it('that only moves the index is found by asking each for its index alone, and once more a second later', async () => {
		await using site = await sharedSite(6);
		const { clock, fake } = site;
		const before = fake.requests.length;
		fake.set('s3', [{ id: 's3', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the edit', () => site.answer('s3')?.[0]?.meta['edited'] === 'yes');
		await waitFor('every look', () => fake.requests.slice(before).filter(isLook).length === 5);
		expect(servicesRead(fake, before)).toEqual(['s3']);
		// The server that was asked may have lagged.
		await waitFor('the second looks', async () => {
			await clock.advance(500);
			return fake.requests.slice(before).filter(isLook).length >= 10;
		});
		const after = fake.requests.length;
		await clock.advance(5000);
		expect(servicesAsked(fake, after)).toEqual([]);
	});

	it('is found on a server that had not heard of it at the first look', async () => {
		await using site = await sharedSite(2);
		const { clock, fake } = site;
		const before = fake.requests.length;
		fake.lag('s1');
		fake.set('s1', [{ id: 's1', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the first look', () => servicesAsked(fake, before).includes('s1'));
		expect(site.answer('s1')?.[0]?.meta).toEqual({});
		fake.lag(undefined);
		await waitFor('the edit', async () => {
			await clock.advance(100);
			return site.answer('s1')?.[0]?.meta['edited'] === 'yes';
		});
	});

	it('is seen within a moment after the servers were restored from a snapshot', async () => {
		await using site = await sharedSite(4);
		const { clock, fake } = site;
		fake.restore(5, 's2', [{ id: 'older', checks: [] }]);
		await waitFor('the older state', async () => {
			await clock.advance(50);
			return site.answer('s2')?.[0]?.instance === 'node-1/older';
		});
		expect(site.answer('s1')?.[0]?.instance).toBe('node-1/s1');
	});

	it('every answer of what is shared verifies what has not changed, as the very same list', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock, 3);
		const told = all.get('s2')?.answers ?? [];
		const before = told.length;
		await clock.advance(60_000);
		await waitFor('the verification', () => told.length > before);
		expect(told.at(-1)).toBe(told[before - 1]);
	});
});

describe('while others change all the time', () => {
	it('no minute has more queries than are allowed, and who was not confirmed in time is told to be', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		setAll(fake, 41);
		await using one = watchedMany([fake.url], { heldMax: 1, clock, sharedQueriesPerMinuteMax: 120 });
		const all = new Map(names(41).map((name) => [name, one.watch(name)]));
		await waitFor('all answers', async () => {
			await clock.advance(500);
			return [...all.values()].every(({ answers }) => answers.length > 0);
		});
		await waitFor('what is held', () => fake.blocked === 3);
		const perMinute: number[] = [];
		for (let minute = 0; minute < 3; minute++) {
			const before = fake.requests.length;
			for (let tick = 0; tick < 60; tick++) {
				fake.set('foreign', [{ id: String(tick), checks: [] }]);
				await waitFor('what is held', () => fake.blocked === 3);
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
		await using site = await sharedSite(10, { before: (consul) => setAll(consul, 10, [{ status: 'passing' }]) });
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
