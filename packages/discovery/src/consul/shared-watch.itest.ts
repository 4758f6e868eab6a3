import type { ServiceSnapshot } from '@spock/protocol';
import { FakeClock, type FakeConsul, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { atRest, names, paths, watchAll } from '../../test/shared-site.ts';
import { watchedMany } from '../../test/watched-many.ts';
import { BackendSource } from '../backend-source.ts';
import { consulBackend } from './consul-backend.ts';

const readsOf = (fake: FakeConsul, name: string): number =>
	paths(fake).filter((path) => path === `/v1/health/service/${name}`).length;

it('32 readers of one question hold one query between them, and all are told of a change', async () => {
	await using fake = await startFakeConsul();
	const source = new BackendSource({ backend: consulBackend({ addresses: [fake.url] }) });
	const seen = Array.from({ length: 32 }, (): ServiceSnapshot[] => []);
	for (const snapshots of seen) source.watch({ service: 'barista' }, { next: (snapshot) => snapshots.push(snapshot) });
	await waitFor('the query', () => fake.blocked === 1);
	fake.set('barista', [{ id: 'a' }]);
	await waitFor('the change', () => seen.every((snapshots) => snapshots.at(-1)?.instances.length === 1));
	expect(fake.requests.length).toBeLessThanOrEqual(3);
	await source.close();
});

describe('above the threshold', () => {
	it('up to it each question has its own query; above it two queries watch for all', async () => {
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url]);
		const all = await watchAll(one, 64);
		await waitFor('64 queries', () => fake.blocked === 64);
		expect(one.mode()).toBe('each');
		const last = one.watch('s64');
		await waitFor('two queries', () => fake.blocked === 2 && last.answers.length > 0);
		expect(one.mode()).toBe('shared');
		const long = fake.requests.filter(({ query }) => query.get('wait') === '55000ms').slice(-2);
		expect(long.map(({ path }) => path).sort()).toEqual(['/v1/catalog/services', '/v1/health/state/any']);
		for (const { errors } of all.values()) expect(errors).toEqual([]);
	});

	it('back to queries of their own only well below it', async () => {
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { sharedWatchAbove: 8 });
		const all = await watchAll(one, 9);
		expect(one.mode()).toBe('shared');
		for (const name of ['s0', 's1', 's2']) all.get(name)?.stop();
		expect(one.mode()).toBe('shared');
		all.get('s3')?.stop();
		expect(one.mode()).toBe('each');
		await waitFor('five queries', () => fake.blocked === 5);
		fake.set('s8', [{ id: 'a' }]);
		await waitFor('the change', () => all.get('s8')?.answers.at(-1)?.length === 1);
		expect(all.get('s0')?.answers.at(-1)).toEqual([]);
	});

	it('each datacenter has a watch of its own, which ends with its last question; a peer is asked one by one', async () => {
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2 });
		one.watch('a');
		one.watch('b');
		const far = one.watch({ service: 'c', datacenter: 'dc2' });
		await waitFor('two for each', () => fake.blocked === 4);
		const states = fake.requests.filter(({ path }) => path === '/v1/health/state/any');
		expect(new Set(states.map(({ query }) => query.get('dc')))).toEqual(new Set([null, 'dc2']));
		one.watch({ service: 'd', peer: 'east' });
		await waitFor("the peer's own", () => fake.blocked === 5);
		far.stop();
		await waitFor("the datacenter's end", () => fake.blocked === 3);
	});
});

describe('a change under a shared watch', () => {
	it('of a check is read again at once, and nothing else is', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		for (const name of names(4)) fake.set(name, [{ id: name }]);
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 4);
		await atRest(fake, clock);
		const before = fake.requests.length;
		fake.set('s1', [{ id: 's1', checks: [{ status: 'critical' }] }]);
		await waitFor('the change', () => all.get('s1')?.answers.at(-1)?.[0]?.status === 'critical');
		await waitFor('rest', () => fake.blocked === 2);
		expect(readsOf(fake, 's1')).toBeGreaterThan(0);
		const since = paths(fake).slice(before);
		expect(since.filter((path) => path.startsWith('/v1/health/service/'))).toEqual(['/v1/health/service/s1']);
	});

	it('of tags is read again at once; of an address, in a round', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		for (const name of names(4)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 4);
		await atRest(fake, clock);
		fake.set('s2', [{ id: 's2', checks: [], tags: ['v2'] }]);
		await waitFor('the tags', () => all.get('s2')?.answers.at(-1)?.[0]?.tags[0] === 'v2');
		await atRest(fake, clock);
		fake.set('s3', [{ id: 's3', checks: [], tags: ['v2'], address: '10.0.0.9' }]);
		await waitFor('the tags again', () => all.get('s3')?.answers.at(-1)?.[0]?.tags[0] === 'v2');
		await atRest(fake, clock);
		fake.set('s3', [{ id: 's3', checks: [], tags: ['v2'], address: '10.0.0.10' }]);
		const sinceMs = clock.now();
		// Its turn has come at the latest after a round; the doubt itself needs the names to be answered.
		await waitFor('the address', async () => {
			await clock.advance(500);
			return all.get('s3')?.answers.at(-1)?.[0]?.host === '10.0.0.10';
		});
		expect(clock.now() - sinceMs).toBeLessThanOrEqual(60_000);
	});

	it("of a node's own check concerns every service on that node, and no other", async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		fake.set('s0', [{ id: 'a', node: 'n1' }]);
		fake.set('s1', [{ id: 'b', node: 'n1' }]);
		fake.set('s2', [{ id: 'c', node: 'n2' }]);
		fake.setNodeCheck('n1', 'passing');
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock);
		const before = fake.requests.length;
		fake.setNodeCheck('n1', 'critical');
		await waitFor('the failure', () =>
			['s0', 's1'].every((name) => all.get(name)?.answers.at(-1)?.[0]?.status === 'critical'),
		);
		await waitFor('rest', () => fake.blocked === 2);
		expect(
			new Set(
				paths(fake)
					.slice(before)
					.filter((path) => path.startsWith('/v1/health/service/')),
			),
		).toEqual(new Set(['/v1/health/service/s0', '/v1/health/service/s1']));
		expect(all.get('s2')?.answers.at(-1)?.[0]?.status).toBe('passing');
	});

	it('every answer of the shared watch verifies what has not changed, as the very same list', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock);
		const told = all.get('s0')?.answers ?? [];
		const before = told.length;
		// The ends of their waits.
		await clock.advance(60_000);
		await waitFor('the verification', () => told.length > before);
		expect(told.at(-1)).toBe(told[before - 1]);
	});
});

describe('when the shared watch fails', () => {
	it('every question fails, and all are read again when it is back', async () => {
		await using fake = await startFakeConsul();
		for (const name of names(4)) fake.set(name, [{ id: name }]);
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2 });
		const all = await watchAll(one, 4);
		await waitFor('the shared queries', () => fake.blocked >= 2);
		await fake.stop();
		await waitFor('every failure', () => [...all.values()].every(({ errors }) => errors.length > 0));
		fake.set('s2', []);
		await fake.listen();
		await waitFor('the return', () => all.get('s2')?.answers.at(-1)?.length === 0);
		await waitFor('the others', () => all.get('s0')?.answers.at(-1)?.length === 1);
	});

	it('a question whose own read fails is asked again, and the others hear nothing of it', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock);
		fake.failPath('/v1/health/service/s1', { status: 500 });
		fake.set('s1', [{ id: 'a' }]);
		await waitFor('the error', () => all.get('s1')?.errors.length === 1);
		await clock.advance(1);
		await waitFor('the retry', () => all.get('s1')?.answers.at(-1)?.length === 1);
		expect(all.get('s0')?.errors).toEqual([]);
	});

	it('closing leaves no timer and no query behind', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		const one = watchedMany([fake.url], { sharedWatchAbove: 2, clock });
		await watchAll(one, 4);
		await one.backend.close();
		await waitFor('the queries to end', () => fake.blocked === 0);
		expect(clock.pendingTimers).toBe(0);
	});
});

it('a thousand questions hold two connections at rest, and never more than the cap', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul();
	let most = 0;
	await using one = watchedMany([fake.url], { clock });
	const all = names(1000).map((name) => one.watch(name));
	await waitFor('all answers', () => {
		most = Math.max(most, fake.connections);
		return all.every(({ answers }) => answers.length > 0);
	});
	expect(most).toBeLessThanOrEqual(150);
	await waitFor('two queries', () => fake.blocked === 2);
});
