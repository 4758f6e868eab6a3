import { FakeClock, startFakeConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { watched } from '../../../../test/watched-backend.ts';

const restores = (paths: readonly string[]): number =>
	paths.filter((path) => path === '/v1/catalog/service/consul').length;

it('a restore from a snapshot is seen at once, although the query that a stream answers sleeps through it', async () => {
	await using fake = await startFakeConsul({ streams: true });
	fake.set('barista', [{ id: 'a' }]);
	await using one = watched([fake]);
	await waitFor('the query', () => fake.blocked === 1);
	// The first answer of a stream: from now on somebody watches for restores.
	fake.set('barista', [{ id: 'b' }]);
	await waitFor('the watch of restores', () => fake.blocked === 2);
	fake.restore(5, 'barista', [{ id: 'a' }]);
	await waitFor('the older state', () => one.answers.at(-1)?.[0]?.instance === 'node-1/a');
	expect(one.errors).toEqual([]);
});

it('and once more a second later, because servers install a snapshot one after the other', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul({ streams: true });
	await using one = watched([fake], { clock });
	await waitFor('the query', () => fake.blocked === 1);
	fake.set('barista', [{ id: 'a' }]);
	await waitFor('the watch of restores', () => fake.blocked === 2);
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
	await waitFor('the end of all', () => fake.blocked === 0);
	expect(clock.pendingTimers).toBe(0);
});

it('where no stream answers nothing more is asked: the query itself ends', async () => {
	await using fake = await startFakeConsul();
	await using one = watched([fake]);
	await waitFor('the query', () => fake.blocked === 1);
	fake.set('barista', [{ id: 'b' }]);
	await waitFor('the change', () => one.answers.length === 2 && fake.blocked === 1);
	fake.restore(5, 'barista', [{ id: 'a' }]);
	await waitFor('the older state', () => one.answers.at(-1)?.[0]?.instance === 'node-1/a');
	expect(restores(fake.requests.map(({ path }) => path))).toBe(0);
});
