import { FakeClock, settle, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { INDEX_QUERIES, names, polledSite, watchAll } from '../../../../test/polled-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';

describe('when the index of the catalog fails', () => {
	it('services are read all the same, and no failure is reported', async () => {
		await using site = await polledSite(4);
		const { all, clock, fake } = site;
		fake.refusePaths('/v1/catalog/services', '/v1/catalog/nodes', '/v1/health/state/any');
		fake.set('s3', [{ id: 's3', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the edit', async () => {
			await clock.advance(500);
			return site.answer('s3')?.[0]?.meta['edited'] === 'yes';
		});
		for (const { errors } of all.values()) expect(errors).toEqual([]);
	});

	it('every question fails with Consul, and all are read again within moments when it is back', async () => {
		await using fake = await startFakeConsul();
		for (const name of names(4)) fake.set(name, [{ id: name }]);
		await using one = watchedMany([fake.url], { heldMax: 1 });
		const all = await watchAll(one, 4);
		await waitFor('the index', () => fake.blocked >= 1 + INDEX_QUERIES);
		await fake.stop();
		await waitFor('every failure', () => [...all.values()].every(({ errors }) => errors.length > 0), 30_000);
		fake.set('s2', []);
		await fake.listen();
		await waitFor('the return', () => all.get('s2')?.answers.at(-1)?.length === 0);
		await waitFor('the others', () => all.get('s0')?.answers.at(-1)?.length === 1);
	});

	it.each([429, 500])(
		'after half a minute of %i for what is not held all agree again within moments',
		async (status) => {
			await using site = await polledSite(20, { random: Math.random });
			const { all, clock, fake } = site;
			fake.outage = { status };
			for (let passedMs = 0; passedMs < 30_000; passedMs += 1000) {
				fake.set(`s${(passedMs / 1000) % 20}`, [{ id: 'changed', checks: [] }]);
				for (let turn = 0; turn < 10; turn++) await settle();
				await clock.advance(1000);
			}
			expect([...all.values()].some(({ errors }) => errors.length > 0)).toBe(true);
			fake.outage = undefined;
			const sinceMs = clock.now();
			await waitFor('all to agree', async () => {
				await clock.advance(100);
				return [...all.values()].every(({ answers }) => answers.at(-1)?.[0]?.instance === 'node-1/changed');
			});
			expect(clock.now() - sinceMs).toBeLessThanOrEqual(4000);
		},
	);

	it('after a spell of 500 hundreds of them agree again at the pace that is allowed', async () => {
		const count = 280;
		await using site = await polledSite(count, { random: Math.random });
		const { all, clock, fake } = site;
		await clock.advance(60_000);
		const pass = async (ms: number): Promise<void> => {
			for (let passedMs = 0; passedMs < ms; passedMs += 100) {
				for (let turn = 0; turn < 10; turn++) await settle();
				await clock.advance(100);
			}
		};
		fake.outage = { status: 500 };
		for (const name of names(count)) fake.set(name, [{ id: 'changed', checks: [] }]);
		await pass(10_000);
		fake.outage = undefined;
		const sinceMs = clock.now();
		await waitFor('all to agree', async () => {
			await clock.advance(50);
			return [...all.values()].every(({ answers }) => answers.at(-1)?.[0]?.instance === 'node-1/changed');
		});
		// Of 300 queries at once, those that failed are used up: the rest comes at the pace of 45 a second.
		expect(clock.now() - sinceMs).toBeLessThanOrEqual(8000);
	});

	it('a question whose own read fails is asked again, and the others hear nothing of it', async () => {
		await using site = await polledSite(3, { before: () => undefined });
		const { all, clock, fake } = site;
		fake.failPath('/v1/health/service/s1', { status: 500 });
		fake.set('s1', [{ id: 'a' }]);
		await waitFor('the error', () => all.get('s1')?.errors.length !== 0);
		await waitFor('the retry', async () => {
			await clock.advance(250);
			return site.answer('s1')?.length === 1;
		});
		expect(all.get('s2')?.errors).toEqual([]);
	});

	it('closing leaves no timer and no query behind', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		const one = watchedMany([fake.url], { heldMax: 1, clock });
		await watchAll(one, 4);
		await one.backend.close();
		await waitFor('the queries to end', () => fake.blocked === 0);
		await waitFor('the timers', () => clock.pendingTimers === 0);
	});
});
