import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';

import type { ServiceSnapshot } from '@spock/protocol';
import { FakeClock, type FakeConsul, settle, startFakeConsul, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { atRest, INDEX_QUERIES, names, servicesAsked, watchAll } from '../../../../test/polled-site.ts';
import { watchedMany } from '../../../../test/watched-many.ts';
import { BackendSource } from '../../../backend-source.ts';
import { consulBackend } from '../consul-backend.ts';

const SELF = '/v1/agent/self';

/** A Consul that has one address of this machine for all clients there, as one beyond a network has. */
async function startDistantConsul(): Promise<{ fake: FakeConsul } & AsyncDisposable> {
	const place = await tempSocket();
	const fake = await startFakeConsul({ path: join(place.directory, 'consul.sock') });
	return {
		fake,
		[Symbol.asyncDispose]: async () => {
			await fake[Symbol.asyncDispose]();
			await place[Symbol.asyncDispose]();
		},
	};
}

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
	it('are held, one for each service; the rest is polled', async () => {
		const clock = new FakeClock();
		await using site = await startDistantConsul();
		const { fake } = site;
		await using one = watchedMany([fake.url], { clock });
		const all = await watchAll(one, 150);
		await waitFor('150 queries', () => fake.blocked === 150);
		await clock.advance(1000);
		expect(one.polled()).toBe(0);
		const last = one.watch('s150');
		await waitFor('the index', () => fake.blocked === 150 + INDEX_QUERIES && last.answers.length > 0);
		await waitFor('what is polled', async () => {
			await clock.advance(1000);
			return one.polled() === 1;
		});
		const requests = fake.requests.filter(({ path }) => !path.startsWith('/v1/health/service/'));
		expect(new Set(requests.map(({ path }) => path))).toEqual(
			new Set([SELF, '/v1/catalog/services', '/v1/catalog/nodes', '/v1/health/state/any']),
		);
		for (const { errors } of all.values()) expect(errors).toEqual([]);
		// Room for one more: the one that was polled has it.
		all.get('s7')?.stop();
		await waitFor('150 queries', () => fake.blocked === 150);
		expect(servicesAsked(fake).filter((name) => name === 's150').length).toBeGreaterThan(1);
	});

	it('are as many as the agent says it allows, which is asked once there are more services', async () => {
		const clock = new FakeClock();
		await using site = await startDistantConsul();
		const { fake } = site;
		fake.failPath(SELF, { headers: {}, body: { DebugConfig: { HTTPMaxConnsPerClient: 248 } } });
		await using one = watchedMany([fake.url], { clock });
		const all = names(210).map((name) => one.watch(name));
		await waitFor('200 queries, and the index', async () => {
			await clock.advance(100);
			return fake.blocked === 200 + INDEX_QUERIES && all.every(({ answers }) => answers.length > 0);
		});
		// Reported when it begins: how many are polled then depends on which answer came first.
		await waitFor('the report', async () => {
			await clock.advance(1000);
			return one.polled() >= 10;
		});
		expect(fake.requests.filter(({ path }) => path === SELF)).toHaveLength(1);
		fake.failPath(SELF, { headers: {}, body: { DebugConfig: { HTTPMaxConnsPerClient: 0 } } });
		clock.work(600_000);
		await waitFor('a query for each, once it was asked again', async () => {
			await clock.advance(1000);
			return fake.blocked === 210;
		});
	});

	it.each([
		['says nothing of it', { headers: {}, body: { DebugConfig: {} } }],
		['denies it', { status: 403 }],
		['allows fewer than it is known to take', { headers: {}, body: { DebugConfig: { HTTPMaxConnsPerClient: 100 } } }],
	] as const)('stay 150 where the agent %s, and it counts as well all the same', async (_how, answer) => {
		const clock = new FakeClock();
		await using site = await startDistantConsul();
		const { fake } = site;
		fake.failPath(SELF, answer);
		await using one = watchedMany([fake.url], { clock });
		await watchAll(one, 160);
		await waitFor('150 and the index', () => fake.blocked === 150 + INDEX_QUERIES);
		// Reported when it begins: how many are polled then depends on which answer came first.
		await waitFor('the report', async () => {
			await clock.advance(1000);
			return one.polled() >= 10;
		});
		expect(one.backend.status().state).toBe('up');
	});

	it('stay as many as were asked for, whatever the agent allows', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { clock, heldMax: 3 });
		await watchAll(one, 5);
		await waitFor('three and the index', () => fake.blocked === 3 + INDEX_QUERIES);
		expect(fake.requests.filter(({ path }) => path === SELF)).toEqual([]);
	});

	it('are spread over several addresses', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		await using one = watchedMany([first.url, second.url], { heldMax: 5, clock });
		await watchAll(one, 8);
		await waitFor('five and three', () => first.blocked === 5 && second.blocked === 3);
		await clock.advance(1000);
		expect(one.polled()).toBe(0);
	});

	it('move to the other address when theirs fails; those for which it has no room are polled, until there is room again', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		for (const fake of [first, second]) for (const name of names(8)) fake.set(name, [{ id: name }]);
		await using one = watchedMany([first.url, second.url], { heldMax: 5, clock });
		const all = await watchAll(one, 8);
		await waitFor('five and three', () => first.blocked === 5 && second.blocked === 3);
		await first.stop();
		await waitFor('five and the index', async () => {
			await clock.advance(100);
			return second.blocked === 5 + INDEX_QUERIES;
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
		await using site = await startDistantConsul();
		const { fake } = site;
		fake.connectionsMax = 12;
		await using one = watchedMany([fake.url], { clock, heldMax: 20 });
		const all = names(20).map((name) => one.watch(name));
		await waitFor('all answers', async () => {
			await clock.advance(100);
			return all.every(({ answers }) => answers.length > 0);
		});
		await clock.advance(2000);
		const seen = () => all.map(({ answers }) => answers.at(-1)?.length ?? 0);
		for (const name of names(20)) fake.set(name, [{ id: name }]);
		await waitFor('every change', async () => {
			await clock.advance(500);
			return seen().every((length) => length === 1);
		});
		expect(one.polled()).toBeGreaterThan(0);
		expect(fake.blocked).toBeLessThanOrEqual(12);
		fake.connectionsMax = Number.POSITIVE_INFINITY;
		await waitFor('room', async () => {
			await clock.advance(10_000);
			return one.polled() === 0 && fake.blocked === 20;
		});
	});

	it('go to those that are asked, from those that were not for a minute', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { heldMax: 2, clock });
		const all = await watchAll(one, 3);
		await atRest(fake, clock, 2 + INDEX_QUERIES);
		const heldNow = (): Set<string> => new Set(servicesAsked(fake, before));
		let before = fake.requests.length;
		all.get('s2')?.used();
		await atRest(fake, clock, 2 + INDEX_QUERIES);
		expect(heldNow()).toEqual(new Set());
		await clock.advance(50_000);
		all.get('s1')?.used();
		await clock.advance(5000);
		before = fake.requests.length;
		all.get('s2')?.used();
		await waitFor('the change of places', async () => {
			await clock.advance(300);
			return heldNow().has('s2') && heldNow().has('s0') && fake.blocked === 2 + INDEX_QUERIES;
		});
		expect(heldNow().has('s1')).toBe(false);
	});

	it('each datacenter has an index of its own, which is watched until none of its services is polled', async () => {
		await using fake = await startFakeConsul();
		await using one = watchedMany([fake.url], { heldMax: 1 });
		one.watch('a');
		one.watch('b');
		const far = one.watch({ service: 'c', datacenter: 'dc2' });
		await waitFor('the index of each', () => fake.blocked === 1 + 2 * INDEX_QUERIES);
		const states = fake.requests.filter(({ path }) => path === '/v1/health/state/any');
		expect(new Set(states.map(({ query }) => query.get('dc')))).toEqual(new Set([null, 'dc2']));
		far.stop();
		await waitFor("the datacenter's end", () => fake.blocked === 1 + INDEX_QUERIES);
	});
});

it('those of an address that fails are asked again at the next one 32 at once, and no caller sees a failure', async () => {
	const clock = new FakeClock();
	await using first = await startFakeConsul();
	await using second = await startFakeConsul();
	await using one = watchedMany([first.url, second.url], { clock, heldMax: 300 });
	const all = await watchAll(one, 300);
	await waitFor('300 queries', () => first.blocked === 300);
	second.hold(true);
	await first.stop();
	// The query that notices restores may be one of the 32, and is not among the requests.
	await waitFor('the first of them', () => second.requests.length >= 31);
	for (let turn = 0; turn < 20; turn++) await settle();
	expect(second.requests.length).toBeLessThanOrEqual(32);
	second.hold(false);
	await waitFor('all of them', () => second.blocked === 300);
	for (const { errors } of all.values()) expect(errors).toEqual([]);
});

it('a thousand questions never hold more connections than the cap', async () => {
	const clock = new FakeClock();
	await using site = await startDistantConsul();
	const { fake } = site;
	let most = 0;
	await using one = watchedMany([fake.url], { clock });
	const all = names(1000).map((name) => one.watch(name));
	await waitFor('all answers', async () => {
		await clock.advance(100);
		most = Math.max(most, fake.connections);
		return all.every(({ answers }) => answers.length > 0);
	});
	expect(most).toBeLessThanOrEqual(190);
	await waitFor('150 and the index', () => fake.blocked === 150 + INDEX_QUERIES);
});

describe('at an agent on this machine', () => {
	const CONNECTIONS_MAX = 200;

	it('each of hundreds of services has a query of its own, over no more connections from one address than the agent allows', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		fake.connectionsMax = CONNECTIONS_MAX;
		await using one = watchedMany([fake.url], { clock });
		const all = await watchAll(one, 600);
		await waitFor('600 queries', async () => {
			await clock.advance(100);
			return fake.blocked === 600;
		});
		await clock.advance(1000);
		expect(one.polled()).toBe(0);
		expect(fake.connectionsOfOne).toBeLessThanOrEqual(CONNECTIONS_MAX - 10);
		// The agent's limit is none for all of them: it is not asked for.
		expect(fake.requests.map(({ path }) => path)).not.toContain(SELF);
		for (const name of names(600)) fake.set(name, [{ id: name }]);
		await waitFor('every change', () => [...all.values()].every(({ answers }) => answers.at(-1)?.length === 1));
		for (const { errors } of all.values()) expect(errors).toEqual([]);
	});

	it('whose connections come from one address all the same, as behind a NAT, the rest is polled', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		fake.isBehindNat = true;
		fake.connectionsMax = CONNECTIONS_MAX;
		await using one = watchedMany([fake.url], { clock });
		const all = names(300).map((name) => one.watch(name));
		// A connection of the first 150 may be refused before those from further addresses have ended.
		await waitFor('the poll', async () => {
			await clock.advance(100);
			return one.polled() >= 150 && fake.blocked >= 300 - one.polled() + INDEX_QUERIES;
		});
		for (const name of names(300)) fake.set(name, [{ id: name }]);
		await waitFor('every change', async () => {
			await clock.advance(100);
			return all.every(({ answers }) => answers.at(-1)?.length === 1);
		});
		expect(fake.connections).toBeLessThanOrEqual(CONNECTIONS_MAX);
	});

	it('that is away at first each service has a query of its own, too, once it is there', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await fake.stop();
		// Not 0: each would try again after a millisecond for as long as the agent is away.
		await using one = watchedMany([fake.url], { clock, random: () => 0.5 });
		const all = names(300).map((name) => one.watch(name));
		await waitFor('every failure', async () => {
			await clock.advance(100);
			return all.every(({ errors }) => errors.length > 0);
		});
		await fake.listen();
		await waitFor('300 queries', async () => {
			await clock.advance(500);
			return fake.blocked === 300 && one.polled() === 0;
		});
	});

	it('queries go by further addresses where other processes use up the room of the own one', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		const { hostname, port } = new URL(fake.url);
		const others = await Promise.all(
			Array.from({ length: 180 }, async (): Promise<Socket> => {
				const socket = connect({ host: hostname, port: Number(port) });
				await once(socket, 'connect');
				return socket;
			}),
		);
		fake.connectionsMax = CONNECTIONS_MAX;
		await using one = watchedMany([fake.url], { clock });
		const all = names(100).map((name) => one.watch(name));
		await waitFor('a query for each', async () => {
			await clock.advance(500);
			return fake.blocked === 100 && one.polled() === 0;
		});
		expect(all.every(({ answers }) => answers.length > 0)).toBe(true);
		for (const socket of others) socket.destroy();
	});
});
