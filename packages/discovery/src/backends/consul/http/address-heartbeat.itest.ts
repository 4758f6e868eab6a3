import { FakeClock, type FakeConsul, settle, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { blocked, watched } from '../../../../test/watched-backend.ts';
import { watchedMany } from '../../../../test/watched-many.ts';
import { consulBackend } from '../consul-backend.ts';
import { ConsulHttp } from './consul-http.ts';

/** More than a heartbeat and its deadline, and much less than the wait of a query. */
const SILENCE_MS = 12_000;

/** Moves the clock on in steps, so that real sockets have their turn, until the condition holds or the time is over. */
async function advance(clock: FakeClock, ms: number, isDone: () => boolean = () => false): Promise<void> {
	for (let passedMs = 0; passedMs < ms && !isDone(); passedMs += 250) {
		await clock.advance(250);
		// A heartbeat on its way crosses loopback within some turns of the loop.
		for (let turn = 0; turn < 20; turn++) await settle();
	}
}

const heartbeats = (fake: FakeConsul): number => fake.heartbeats;

describe('an address that holds queries and goes silent', () => {
	it('is left for the next one, long before the queries reach their deadline', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		await using one = watched([first, second], { clock });
		await blocked(first);
		second.set('barista', [{ id: 'a' }]);
		first.hold(true);
		await advance(clock, SILENCE_MS, () => second.blocked === 1);
		await blocked(second);
		expect(one.answers.at(-1)).toMatchObject([{ instance: 'node-1/a' }]);
		expect(one.errors).toEqual([]);
	});

	it('is reported as failed where it is the only one, and asked again until it answers', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watched([fake], { clock });
		await blocked(fake);
		fake.hold(true);
		await advance(clock, SILENCE_MS, () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'UNAVAILABLE' });
		expect(one.errors[0]?.message).toMatch(/no response from the Consul servers/);
		fake.hold(false);
		await advance(clock, SILENCE_MS, () => one.answers.length > 1);
		await waitFor('the answer', () => one.answers.length > 1);
	});

	it('is reported as failed where all the others are silent too, as soon as they have had a moment', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		await using third = await startFakeConsul();
		const all = [first, second, third];
		await using one = watched(all, { clock });
		await blocked(first);
		for (const fake of all) fake.hold(true);
		const sinceMs = clock.now();
		await advance(clock, 40_000, () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'UNAVAILABLE' });
		expect(clock.now() - sinceMs).toBeLessThanOrEqual(SILENCE_MS + 2000);
	});

	it('is not left where it answers heartbeats, whatever the status is but 5xx, and there are six heartbeats a minute', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		await using one = watched([fake], { clock });
		await blocked(fake);
		fake.heartbeatStatus = 403;
		await advance(clock, 120_000);
		expect(heartbeats(fake)).toBeGreaterThanOrEqual(10);
		expect(heartbeats(fake)).toBeLessThanOrEqual(12);
		expect(one.errors).toEqual([]);
		expect(fake.blocked).toBe(1);
	});

	it('is asked by one heartbeat however many queries it holds, and by none when it holds none', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watched([fake], { clock });
		const nobody = { answered: () => undefined, failed: () => undefined };
		for (const service of ['a', 'b', 'c']) one.backend.watch({ service }, nobody);
		await waitFor('four to block', () => fake.blocked === 4);
		await advance(clock, SILENCE_MS, () => heartbeats(fake) > 0);
		expect(heartbeats(fake)).toBe(1);
		await one.backend.close();
		expect(clock.pendingTimers).toBe(0);
	});
});

describe('an agent that has lost its servers', () => {
	it.each([
		['answers that it has none', (agent: FakeConsul) => (agent.heartbeatStatus = 500)],
		['does not answer', (agent: FakeConsul) => agent.hold(true)],
	])('and %s: its queries go to the next address', async (_how, lose) => {
		const clock = new FakeClock();
		await using agent = await startFakeConsul({ streams: true });
		await using server = await startFakeConsul();
		server.set('barista', [{ id: 'moved' }]);
		await using one = watched([agent, server], { clock });
		await blocked(agent);
		lose(agent);
		await advance(clock, SILENCE_MS, () => server.blocked === 1);
		await blocked(server);
		expect(one.answers.at(-1)).toMatchObject([{ instance: 'node-1/moved' }]);
		expect(one.errors).toEqual([]);
	});

	it('is reported as failed where there is no other', async () => {
		const clock = new FakeClock();
		await using agent = await startFakeConsul();
		await using one = watched([agent], { clock });
		await blocked(agent);
		agent.heartbeatStatus = 500;
		await advance(clock, SILENCE_MS, () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'UNAVAILABLE' });
	});

	it('is found although it goes on to answer what it can from memory', async () => {
		const clock = new FakeClock();
		await using agent = await startFakeConsul();
		const http = new ConsulHttp({ addresses: [agent.url], clock, random: () => 0 });
		const backend = consulBackend({ http, clock, random: () => 0 });
		const errors: unknown[] = [];
		backend.watch({ service: 'barista' }, { answered: () => undefined, failed: (error) => errors.push(error) });
		await blocked(agent);
		agent.heartbeatStatus = 500;
		const ofAgent = { only: 0 };
		for (let passedMs = 0; passedMs < SILENCE_MS && errors.length === 0; passedMs += 1000) {
			// What is an agent's own, such as a check that is kept passing; and the end of what it holds.
			await http.call({ send: (client, common) => client.catalog.service.list(common), read: () => true }, ofAgent);
			agent.touch();
			await advance(clock, 1000, () => errors.length > 0);
		}
		expect(errors).not.toEqual([]);
		await backend.close();
		await http.close();
	});

	it('and a server that knows no leader is left too, where there is another', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		await using _one = watched([first, second], { clock });
		await blocked(first);
		first.leader = '';
		await advance(clock, SILENCE_MS, () => second.blocked === 1);
		await blocked(second);
	});
});

describe('an address that answers late', () => {
	it('is asked anew for what it has not answered once it answers in time again', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'a' }]);
		await using one = watched([fake], { clock });
		await blocked(fake);
		fake.hold(true);
		await advance(clock, SILENCE_MS, () => one.errors.length > 0);
		await advance(clock, 1000);
		// Whatever hangs there hangs on, as with an agent whose server stands still.
		fake.forget();
		const before = one.answers.length;
		const sinceMs = clock.now();
		await advance(clock, 10_000, () => one.answers.length > before);
		expect(one.answers.length).toBeGreaterThan(before);
		expect(clock.now() - sinceMs).toBeLessThanOrEqual(4000);
	});

	it('is not called live, and its answers are as old as they are late; in time again, they are confirmed at once', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		fake.set('barista', [{ id: 'a' }]);
		await using one = watchedMany([fake.url], { clock });
		const told = one.watch('barista');
		await blocked(fake);
		fake.delayMs = 5000;
		await advance(clock, SILENCE_MS, () => told.errors.length > 0);
		expect(told.errors).toHaveLength(1);
		const before = told.metas.length;
		await advance(clock, 10_000, () => told.metas.length > before);
		expect(told.metas.at(-1)).toMatchObject({ ageMs: expect.closeTo(5000, -3), isUnconfirmed: true });
		fake.delayMs = 0;
		const late = told.metas.length;
		await advance(clock, 16_000, () => told.metas.slice(late).some((meta) => !meta?.isUnconfirmed));
		expect(told.metas.at(-1)?.isUnconfirmed).toBeUndefined();
	});
});

describe('the first address', () => {
	it('is used again once it knows a leader', async () => {
		const clock = new FakeClock();
		await using first = await startFakeConsul();
		await using second = await startFakeConsul();
		await using one = watched([first, second], { clock });
		await blocked(first);
		await first.stop();
		await blocked(second);
		await first.listen();
		const before = first.heartbeats;
		const isLooked = (): boolean => first.heartbeats > before;
		await advance(clock, 25_000, isLooked);
		await waitFor('the look', isLooked);
		await advance(clock, 500);
		second.touch();
		await advance(clock, 2000, () => first.blocked === 1);
		await blocked(first);
		expect(one.errors).toEqual([]);
	});
});
