import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { atRest, isLook, names, paths, watchAll } from '../../test/shared-site.ts';
import { watchedMany } from '../../test/watched-many.ts';

describe('a change under a shared watch', () => {
	it('that only moves the index is found within half a second, by asking each service for its index alone', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(6)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 6);
		await atRest(fake, clock);
		const before = fake.requests.length;
		fake.set('s3', [{ id: 's3', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the names', () => paths(fake).slice(before).includes('/v1/catalog/services'));
		await waitFor('both shared queries', () => fake.blocked === 2);
		await clock.advance(500);
		await waitFor('the edit', () => all.get('s3')?.answers.at(-1)?.[0]?.meta['edited'] === 'yes');
		await waitFor('every look', () => fake.requests.slice(before).filter(isLook).length === 6);
		const read = fake.requests.slice(before).filter((request) => !isLook(request));
		expect(read.map(({ path }) => path).filter((path) => path.startsWith('/v1/health/service/'))).toEqual([
			'/v1/health/service/s3',
		]);
		// Once more, later: the server that was asked may have lagged.
		await clock.advance(40_000);
		await waitFor('the confirmations', () => fake.requests.slice(before).filter(isLook).length === 12);
	});

	it('what has changed lately is looked at first', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(20)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 20);
		for (const edited of ['first', 'second']) {
			await atRest(fake, clock);
			const before = fake.requests.length;
			fake.set('s19', [{ id: 's19', checks: [], meta: { edited } }]);
			await waitFor('the names', () => paths(fake).slice(before).includes('/v1/catalog/services'));
			await waitFor('both shared queries', () => fake.blocked === 2);
			await clock.advance(edited === 'first' ? 500 : 25);
			await waitFor('the edit', () => all.get('s19')?.answers.at(-1)?.[0]?.meta['edited'] === edited);
		}
	});

	it('is seen within a moment after the servers were restored from a snapshot', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(4)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 4);
		await atRest(fake, clock);
		fake.restore(5, 's2', [{ id: 'older', checks: [] }]);
		await waitFor('the older state', async () => {
			await clock.advance(50);
			return all.get('s2')?.answers.at(-1)?.[0]?.instance === 'node-1/older';
		});
		expect(all.get('s1')?.answers.at(-1)?.[0]?.instance).toBe('node-1/s1');
	});
});
