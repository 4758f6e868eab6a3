import { FakeClock, settle, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { names, sharedSite, watchAll } from '../../../../test/shared-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';

describe('when what is shared fails', () => {
	it('services are asked for all the same, and nobody is told of a failure', async () => {
		await using site = await sharedSite(4);
		const { all, clock, fake } = site;
		fake.refusePaths('/v1/catalog/services', '/v1/health/state/any');
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
		await waitFor('the shared queries', () => fake.blocked >= 3);
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
			await using site = await sharedSite(20, { random: Math.random });
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

	it('after a spell of 500 hundreds of them agree again as soon as Consul answers', async () => {
		const count = 280;
		await using site = await sharedSite(count, { random: Math.random });
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
		// At the pace of the budget alone it takes 6 s.
		expect(clock.now() - sinceMs).toBeLessThanOrEqual(3000);
	});

	it('a question whose own read fails is asked again, and the others hear nothing of it', async () => {
		await using site = await sharedSite(3, { before: () => undefined });
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
