import type { CheckStatus } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { createSource, instance, query, recorder, refused } from '../test/fake-backend-source.ts';
import { rememberChecks } from './foundation/instance-notes.ts';

function withChecks(name: string, ...checks: readonly [id: string, status: string][]) {
	const one = instance(name);
	rememberChecks(
		one,
		checks.map(([id, status]): CheckStatus => ({ id, name: id, status })),
	);
	return one;
}

describe('inspect', () => {
	it('says when each instance last changed, and when the question did', async () => {
		const { source, last, clock } = createSource();
		source.watch(query, recorder());
		last().answered([instance('a'), instance('b')]);
		const first = clock.wallNow();
		await clock.advance(1000);
		last().answered([instance('a'), instance('b', 81), instance('c')]);
		const second = clock.wallNow();
		await clock.advance(1000);
		last().answered([instance('a'), instance('b', 81), instance('c')]);
		const { instances, changedAt, readers, snapshot } = await source.inspect(query);
		expect([...instances].map(([name, facts]) => [name, facts.changedAt])).toEqual([
			['a', first],
			['b', second],
			['c', second],
		]);
		expect({ changedAt, readers, verifiedAt: snapshot?.verifiedAt }).toEqual({
			changedAt: second,
			readers: 1,
			verifiedAt: clock.wallNow(),
		});
	});

	it('an instance that left and came back has changed; what left is forgotten', async () => {
		const { source, last, clock } = createSource();
		source.watch(query, recorder());
		last().answered([instance('a'), instance('b')]);
		last().answered([instance('a')]);
		await clock.advance(500);
		last().answered([instance('a'), instance('b')]);
		expect((await source.inspect(query)).instances.get('b')).toMatchObject({ changedAt: clock.wallNow() });
	});

	it('shows the newest checks although nothing that readers see has changed', async () => {
		const { source, last } = createSource();
		source.watch(query, recorder());
		last().answered([withChecks('a', ['one', 'critical'], ['two', 'critical'])]);
		last().answered([withChecks('a', ['one', 'critical'], ['two', 'passing'])]);
		expect(source.peek(query)?.revision).toBe(1);
		const checks = async () => (await source.inspect(query)).instances.get('a')?.checks.map(({ status }) => status);
		expect(await checks()).toEqual(['critical', 'passing']);
		last().answered([instance('a')]);
		expect(await checks()).toEqual([]);
	});

	it('of a question that cannot be answered says why, and rejects only for a caller that gave up', async () => {
		const { source, last, clock } = createSource({ firstAnswerMs: 200 });
		const silent = source.inspect({ service: 'silent' });
		await clock.advance(200);
		expect(await silent).toMatchObject({
			snapshot: undefined,
			state: 'cold',
			error: expect.stringContaining('not answered'),
		});
		const failing = source.inspect(query);
		last().failed(refused);
		expect(await failing).toMatchObject({ snapshot: undefined, state: 'cold', error: 'refused', instances: new Map() });
		await expect(source.inspect(query, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'ABORTED' });
		await settle();
	});

	it('in an outage says that it is stale, and why', async () => {
		const { source, last, clock } = createSource();
		source.watch(query, recorder());
		last().answered([instance('a')]);
		await clock.advance(700);
		last().failed(refused);
		expect(await source.inspect(query)).toMatchObject({
			state: 'stale',
			error: 'refused',
			held: null,
			snapshot: { source: 'last-known-good', ageMs: 700 },
		});
	});
});

describe('known', () => {
	it('tells what inspect does, starts no watch, and keeps none alive', async () => {
		const { source, last, clock } = createSource({ idleTtlMs: 1000 });
		expect(source.known(query)).toBeUndefined();
		expect(source.watches()).toEqual([]);
		const watch = source.watch(query, recorder());
		last().answered([withChecks('a', ['one', 'passing'])]);
		expect(source.known(query)).toEqual(await source.inspect(query));
		watch.stop();
		for (let count = 0; count < 30; count++) {
			source.known(query);
			await clock.advance(100);
		}
		expect(source.known(query)).toBeUndefined();
	});
});

it('a change is told with what it took the place of; the first one with nothing', () => {
	const { source, last, events } = createSource();
	source.watch(query, recorder());
	last().answered([instance('a')]);
	last().answered([instance('b')]);
	const told = events.filter((event) => event.type === 'published');
	expect(told.map(({ before }) => before)).toEqual([undefined, told[0]?.snapshot]);
});
