import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { watched } from '../../../../test/watched-backend.ts';

it('a restore from a snapshot is seen at once, although the query that a stream answers sleeps through it', async () => {
	await using fake = await startFakeConsul({ streams: true });
	fake.set('barista', [{ id: 'a' }]);
	await using one = watched([fake]);
	await waitFor('the query', () => fake.blocked === 1);
	await waitFor('the watch of restores', () => fake.waitingForRestore === 1);
	fake.restore(5, 'barista', [{ id: 'older' }]);
	await waitFor('the older state', () => one.answers.at(-1)?.[0]?.instance === 'node-1/older');
	expect(one.errors).toEqual([]);
});

it('and once more a second later, because servers install a snapshot one after the other', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul({ streams: true });
	await using one = watched([fake], { clock });
	await waitFor('the query', () => fake.blocked === 1);
	await waitFor('the watch of restores', () => fake.waitingForRestore === 1);
	const reads = (): number =>
		fake.requests.filter(({ path, query }) => path === '/v1/health/service/barista' && !query.has('index')).length;
	let seen = reads();
	const restoredAtMs = clock.now();
	/** A read after so long, or later. */
	const readAfter = (ms: number): Promise<unknown> =>
		waitFor(`a read after ${ms} ms`, async () => {
			await clock.advance(1);
			const isMore = reads() > seen;
			seen = reads();
			return isMore && clock.now() - restoredAtMs >= ms;
		});
	fake.restore(5, 'barista', [{ id: 'a' }]);
	await readAfter(0);
	await readAfter(1000);
	await one.backend.close();
	await waitFor('the end of all', () => fake.blocked + fake.waitingForRestore === 0);
	expect(clock.pendingTimers).toBe(0);
});

it('a restore while the query that notices them fails is seen once that is answered, and the query ends with the last watch', async () => {
	await using fake = await startFakeConsul({ streams: true });
	fake.set('barista', [{ id: 'a' }]);
	fake.set('waiter', [{ id: 'w' }]);
	await using one = watched([fake]);
	await waitFor('the watch of restores', () => fake.blocked === 1 && fake.waitingForRestore === 1);
	fake.refusePaths('/v1/catalog/service/consul');
	await waitFor('its end', () => fake.waitingForRestore === 0);
	fake.restore(5, 'barista', [{ id: 'older' }]);
	fake.allowPaths();
	const other = one.backend.watch({ service: 'waiter' }, { answered: () => undefined, failed: () => undefined });
	await waitFor('the older state', () => one.answers.at(-1)?.[0]?.instance === 'node-1/older');
	one.watch.stop();
	await waitFor('one watch less', () => fake.blocked === 1 && fake.waitingForRestore === 1);
	other.stop();
	await waitFor('the end of all', () => fake.blocked + fake.waitingForRestore === 0);
});
