import { FakeClock, type FakeConsul, type FakeConsulFault, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { watchedMany } from '../../../test/watched-many.ts';

const IDLE_MS = 8000;

/** A Consul behind a proxy that ends what nothing has happened to. */
async function behindProxy() {
	const clock = new FakeClock();
	const fake = await startFakeConsul();
	fake.set('barista', [{ id: 'a' }]);
	const one = watchedMany([fake.url], { clock });
	const told = one.watch('barista');
	await waitFor('the query', () => fake.blocked === 1);
	const failures = () => one.events.filter((event) => event.type === 'backend-query' && event.outcome === 'failed');
	/** The proxy ends the query in its way, after so long. */
	const end = async (afterMs: number, ...faults: FakeConsulFault[]): Promise<void> => {
		await clock.advance(afterMs);
		fake.fail(...faults);
		fake.wakeAll();
	};
	return {
		...{ clock, fake, one, told, failures, end },
		[Symbol.asyncDispose]: async () => {
			await one[Symbol.asyncDispose]();
			await fake[Symbol.asyncDispose]();
		},
	};
}

const lastIndex = (fake: FakeConsul): string | null | undefined => fake.requests.at(-1)?.query.get('index');

describe('a proxy in front of Consul that ends a query in which nothing has changed', () => {
	it.each<[string, FakeConsulFault]>([
		['502', { status: 502 }],
		['503', { status: 503 }],
		['504', { status: 504, text: 'upstream request timeout' }],
		['the end of the connection', 'reset before headers'],
	])('by %s: it is asked again at once, and no client sees a failure', async (_how, fault) => {
		await using site = await behindProxy();
		const { fake, told, one } = site;
		for (let wait = 1; wait <= 3; wait++) {
			const before = told.answers.length;
			await site.end(IDLE_MS, fault);
			await waitFor('the verification', () => told.answers.length > before);
			await waitFor('the next query', () => fake.blocked === 1);
		}
		expect(told.errors).toEqual([]);
		expect(site.failures()).toEqual([]);
		expect(one.backend.status().state).toBe('up');
		// Two for each wait: one that is held, and one that verifies.
		expect(fake.requests.filter(({ query }) => query.has('index'))).toHaveLength(4);
		expect(fake.requests).toHaveLength(8);
	});

	it('loses no change that came in the meantime', async () => {
		await using site = await behindProxy();
		await site.clock.advance(IDLE_MS);
		site.fake.fail({ status: 504 });
		site.fake.set('barista', [{ id: 'a' }, { id: 'b' }]);
		await waitFor('the change', () => site.told.answers.at(-1)?.length === 2);
		expect(site.told.errors).toEqual([]);
	});

	it.each([502, 503, 504])('is a failure where it answers %i again', async (status) => {
		await using site = await behindProxy();
		await site.end(IDLE_MS, { status }, { status });
		await waitFor('the failure', () => site.told.errors.length === 1);
		expect(site.fake.requests).toHaveLength(3);
		expect(lastIndex(site.fake)).toBeNull();
		expect(site.failures()).toHaveLength(1);
	});

	it.each([502, 503, 504])('is a failure, and is not asked in a loop, where it answers %i at once', async (status) => {
		await using site = await behindProxy();
		await site.end(0, { status });
		await waitFor('the failure', () => site.told.errors.length === 1);
		expect(site.fake.requests).toHaveLength(2);
	});

	it('is not excused for an error of Consul itself', async () => {
		await using site = await behindProxy();
		await site.end(IDLE_MS, { status: 500 });
		await waitFor('the failure', () => site.told.errors.length === 1);
	});
});

it('a query is held for as long as was asked for', async () => {
	await using fake = await startFakeConsul();
	await using one = watchedMany([fake.url], { waitMs: 7000 });
	one.watch('barista');
	await waitFor('the query', () => fake.blocked === 1);
	expect(fake.requests.at(-1)?.query.get('wait')).toBe('7000ms');
});
