import type { ServiceSnapshot } from '@spock/protocol';
import { FakeClock, type FakeConsul, settle, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { atRest, isLook, names, paths, watchAll } from '../../../../test/shared-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';
import { BackendSource } from '../../../backend-source.ts';
import { consulBackend } from '../consul-backend.ts';

const readsOf = (fake: FakeConsul, name: string): number =>
	paths(fake).filter((path) => path === `/v1/health/service/${name}`).length;
const services = (fake: FakeConsul, from = 0): string[] =>
	paths(fake)
		.slice(from)
		.filter((path) => path.startsWith('/v1/health/service/'))
		.map((path) => path.slice('/v1/health/service/'.length));

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

describe('as many queries as there is room for', () => {
	it('are held, one for each service; the rest share two', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { clock });
		const all = await watchAll(one, 150);
		await waitFor('150 queries', () => fake.blocked === 150);
		await clock.advance(1000);
		expect(one.sharing()).toBe(0);
		const last = one.watch('s150');
		await waitFor('two more', () => fake.blocked === 152 && last.answers.length > 0);
		await clock.advance(1000);
		expect(one.sharing()).toBe(1);
		const shared = fake.requests.filter(({ path }) => !path.startsWith('/v1/health/service/'));
		expect(new Set(shared.map(({ path }) => path))).toEqual(new Set(['/v1/catalog/services', '/v1/health/state/any']));
		for (const { errors } of all.values()) expect(errors).toEqual([]);
		// Room for one more: whoever shared has it, and nobody shares any more.
		all.get('s7')?.stop();
		await waitFor('150 queries', () => fake.blocked === 150);
		expect(readsOf(fake, 's150')).toBeGreaterThan(1);
	});

	it('are spread over several addresses', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		await using one = watchedMany([first.url, second.url], { heldMax: 5, clock });
		await watchAll(one, 8);
		await waitFor('five and three', () => first.blocked === 5 && second.blocked === 3);
		await clock.advance(1000);
		expect(one.sharing()).toBe(0);
	});

	it('move to the other address when theirs fails; those for which it has no room share, until there is room again', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		for (const fake of [first, second]) for (const name of names(8)) fake.set(name, [{ id: name }]);
		await using one = watchedMany([first.url, second.url], { heldMax: 5, clock });
		const all = await watchAll(one, 8);
		await waitFor('five and three', () => first.blocked === 5 && second.blocked === 3);
		await first.stop();
		await waitFor('five and the shared two', async () => {
			await clock.advance(100);
			return second.blocked === 7;
		});
		for (const { errors } of all.values()) expect(errors).toEqual([]);
		await first.listen();
		await waitFor('all held again', async () => {
			await clock.advance(1000);
			return first.blocked + second.blocked === 8 && first.blocked >= 3;
		});
	});

	it('are fewer where Consul refuses connections, and more again later', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		fake.connectionsMax = 30;
		await using one = watchedMany([fake.url], { clock, heldMax: 60 });
		const all = names(60).map((name) => one.watch(name));
		await waitFor('all answers', async () => {
			await clock.advance(100);
			return all.every(({ answers }) => answers.length > 0);
		});
		await clock.advance(2000);
		const seen = () => all.map(({ answers }) => answers.at(-1)?.length ?? 0);
		for (const name of names(60)) fake.set(name, [{ id: name }]);
		await waitFor('every change', async () => {
			await clock.advance(500);
			return seen().every((length) => length === 1);
		});
		expect(one.sharing()).toBeGreaterThan(0);
		expect(fake.blocked).toBeLessThanOrEqual(30);
		fake.connectionsMax = Number.POSITIVE_INFINITY;
		await waitFor('room', async () => {
			await clock.advance(10_000);
			return one.sharing() === 0 && fake.blocked === 60;
		});
	});

	it('go to those that are asked, from those that were not for a minute', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { heldMax: 2, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock, 4);
		const heldNow = (): Set<string> => new Set(services(fake, before));
		let before = fake.requests.length;
		all.get('s2')?.used();
		await atRest(fake, clock, 4);
		expect(heldNow()).toEqual(new Set());
		await clock.advance(50_000);
		all.get('s1')?.used();
		await clock.advance(5000);
		before = fake.requests.length;
		all.get('s2')?.used();
		await waitFor('the change of places', async () => {
			await clock.advance(300);
			return heldNow().has('s2') && heldNow().has('s0') && fake.blocked === 4;
		});
		expect(heldNow().has('s1')).toBe(false);
	});

	it('each datacenter has a shared watch of its own, which ends with its last question', async () => {
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { heldMax: 1 });
		one.watch('a');
		one.watch('b');
		const far = one.watch({ service: 'c', datacenter: 'dc2' });
		await waitFor('two for each', () => fake.blocked === 5);
		const states = fake.requests.filter(({ path }) => path === '/v1/health/state/any');
		expect(new Set(states.map(({ query }) => query.get('dc')))).toEqual(new Set([null, 'dc2']));
		far.stop();
		await waitFor("the datacenter's end", () => fake.blocked === 3);
	});
});

describe('a change under a shared watch', () => {
	it('of a check is read again at once, and nothing else is', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(4)) fake.set(name, [{ id: name }]);
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 4);
		await atRest(fake, clock, 3);
		const before = fake.requests.length;
		fake.set('s1', [{ id: 's1', checks: [{ status: 'critical' }] }]);
		await waitFor('the change', () => all.get('s1')?.answers.at(-1)?.[0]?.status === 'critical');
		const read = fake.requests.slice(before).filter((request) => !isLook(request));
		expect(read.map(({ path }) => path).filter((path) => path.startsWith('/v1/health/service/'))).toEqual([
			'/v1/health/service/s1',
		]);
	});

	it("of a node's own check concerns every service on that node, and no other", async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		fake.set('s0', [{ id: 'z', node: 'n3' }]);
		fake.set('s1', [{ id: 'a', node: 'n1' }]);
		fake.set('s2', [{ id: 'b', node: 'n1' }]);
		fake.set('s3', [{ id: 'c', node: 'n2' }]);
		fake.setNodeCheck('n1', 'passing');
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 4);
		await atRest(fake, clock, 3);
		const before = fake.requests.length;
		fake.setNodeCheck('n1', 'critical');
		await waitFor('the failure', () =>
			['s1', 's2'].every((name) => all.get(name)?.answers.at(-1)?.[0]?.status === 'critical'),
		);
		expect(services(fake, before).slice(0, 3)).toEqual(expect.arrayContaining(['s1', 's2']));
		expect(all.get('s3')?.answers.at(-1)?.[0]?.status).toBe('passing');
	});

	it('that only moves the index is found by asking each for its index alone, and once more a second later', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(6)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 6);
		await atRest(fake, clock, 3);
		const before = fake.requests.length;
		fake.set('s3', [{ id: 's3', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the edit', () => all.get('s3')?.answers.at(-1)?.[0]?.meta['edited'] === 'yes');
		await waitFor('every look', () => fake.requests.slice(before).filter(isLook).length === 5);
		const read = fake.requests.slice(before).filter((request) => !isLook(request));
		expect(read.map(({ path }) => path).filter((path) => path.startsWith('/v1/health/service/'))).toEqual([
			'/v1/health/service/s3',
		]);
		// The server that was asked may have lagged.
		await waitFor('the second looks', async () => {
			await clock.advance(500);
			return fake.requests.slice(before).filter(isLook).length >= 10;
		});
		const after = fake.requests.length;
		await clock.advance(5000);
		expect(services(fake, after)).toEqual([]);
	});

	it('is found on a server that had not heard of it at the first look', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(2)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 2);
		await atRest(fake, clock, 3);
		const before = fake.requests.length;
		fake.lag('s1');
		fake.set('s1', [{ id: 's1', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the first look', () => services(fake, before).includes('s1'));
		expect(all.get('s1')?.answers.at(-1)?.[0]?.meta).toEqual({});
		fake.lag(undefined);
		await waitFor('the edit', async () => {
			await clock.advance(100);
			return all.get('s1')?.answers.at(-1)?.[0]?.meta['edited'] === 'yes';
		});
	});

	it('is seen within a moment after the servers were restored from a snapshot', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(4)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 4);
		await atRest(fake, clock, 3);
		fake.restore(5, 's2', [{ id: 'older', checks: [] }]);
		await waitFor('the older state', async () => {
			await clock.advance(50);
			return all.get('s2')?.answers.at(-1)?.[0]?.instance === 'node-1/older';
		});
		expect(all.get('s1')?.answers.at(-1)?.[0]?.instance).toBe('node-1/s1');
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
		for (const name of names(41)) fake.set(name, [{ id: name, checks: [] }]);
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
			perMinute.push(services(fake, before).filter((name) => name !== 's0').length);
		}
		for (const count of perMinute) expect(count).toBeLessThanOrEqual(120);
		const metas = [...all.values()].slice(1).flatMap((told) => told.metas);
		expect(metas.some((meta) => meta?.isUnconfirmed && meta.ageMs > 10_000)).toBe(true);
		expect(metas.every((meta) => meta?.isUnconfirmed || (meta?.ageMs ?? 0) <= 10_000)).toBe(true);
	});

	it('what nobody watches costs nothing', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(10)) fake.set(name, [{ id: name }]);
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 10);
		await atRest(fake, clock, 3);
		for (const [name, { stop }] of all) if (name !== 's0' && name !== 's9') stop();
		const before = fake.requests.length;
		for (let edit = 0; edit < 10; edit++) {
			fake.set('foreign', [{ id: String(edit) }]);
			await clock.advance(1000);
		}
		expect(new Set(services(fake, before))).toEqual(new Set(['s9']));
	});
});

describe('when what is shared fails', () => {
	it('services are asked for all the same, and nobody is told of a failure', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		for (const name of names(4)) fake.set(name, [{ id: name, checks: [] }]);
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 4);
		await atRest(fake, clock, 3);
		fake.refusePaths('/v1/catalog/services', '/v1/health/state/any');
		fake.set('s3', [{ id: 's3', checks: [], meta: { edited: 'yes' } }]);
		await waitFor('the edit', async () => {
			await clock.advance(500);
			return all.get('s3')?.answers.at(-1)?.[0]?.meta['edited'] === 'yes';
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
			const clock = new FakeClock();
			await using fake = await startFakeConsul({ hasOwnIndexes: true });
			for (const name of names(20)) fake.set(name, [{ id: name, checks: [] }]);
			await using one = watchedMany([fake.url], { heldMax: 1, clock, random: Math.random });
			const all = await watchAll(one, 20);
			await atRest(fake, clock, 3);
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

	it('a question whose own read fails is asked again, and the others hear nothing of it', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ hasOwnIndexes: true });
		await using one = watchedMany([fake.url], { heldMax: 1, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock, 3);
		fake.failPath('/v1/health/service/s1', { status: 500 });
		fake.set('s1', [{ id: 'a' }]);
		await waitFor('the error', () => all.get('s1')?.errors.length !== 0);
		await waitFor('the retry', async () => {
			await clock.advance(250);
			return all.get('s1')?.answers.at(-1)?.length === 1;
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

it('a thousand questions never hold more connections than the cap', async () => {
	const clock = new FakeClock();
	await using fake = await startFakeConsul();
	let most = 0;
	await using one = watchedMany([fake.url], { clock });
	const all = names(1000).map((name) => one.watch(name));
	await waitFor('all answers', async () => {
		await clock.advance(100);
		most = Math.max(most, fake.connections);
		return all.every(({ answers }) => answers.length > 0);
	});
	expect(most).toBeLessThanOrEqual(190);
	await waitFor('150 and two queries', () => fake.blocked === 152);
});
