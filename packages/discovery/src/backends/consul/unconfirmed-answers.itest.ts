import { FakeClock, settle, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { blocked, watched } from '../../../test/watched-backend.ts';
import { watchedMany } from '../../../test/watched-many.ts';

/** Moves the clock on in steps, so that real sockets have their turn, until the condition holds or the time is over. */
async function advance(clock: FakeClock, ms: number, isDone: () => boolean = () => false): Promise<void> {
	for (let passedMs = 0; passedMs < ms && !isDone(); passedMs += 250) {
		await clock.advance(250);
		for (let turn = 0; turn < 20; turn++) await settle();
	}
}

const LEADERLESS = { 'x-consul-lastcontact': '15000', 'x-consul-knownleader': 'false' };

describe('an answer of servers that have lost their leader', () => {
	it('is asked for again as soon as there is a leader, and not when the query that is held ends', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		fake.set('barista', [{ id: 'a' }]);
		fake.fail({ headers: LEADERLESS });
		fake.leader = '';
		await using one = watchedMany([fake.url], { clock });
		const { metas } = one.watch('barista');
		await blocked(fake);
		expect(metas).toEqual([expect.objectContaining({ isUnconfirmed: true, knownLeader: false })]);
		await advance(clock, 8000);
		// No leader: there is no use in asking.
		expect(fake.requests).toHaveLength(2);
		fake.leader = '127.0.0.1:8300';
		await advance(clock, 3000, () => metas.length > 1);
		expect(metas.at(-1)).toMatchObject({ knownLeader: true, lastContactMs: 0 });
		expect(metas.at(-1)?.isUnconfirmed).toBeUndefined();
		const looks = fake.heartbeats;
		await blocked(fake);
		await advance(clock, 4000);
		// Only the heartbeat of the address goes on.
		expect(fake.heartbeats).toBeLessThanOrEqual(looks + 1);
	});

	it('is asked for again ever more seldom where it stays as old although there is a leader', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		fake.set('barista', [{ id: 'a' }]);
		fake.outage = { headers: LEADERLESS };
		await using one = watchedMany([fake.url], { clock, random: () => 1 });
		one.watch('barista');
		await advance(clock, 60_000);
		expect(fake.requests.length).toBeGreaterThan(4);
		expect(fake.requests.length).toBeLessThan(40);
	});
});

describe('what an address reports of another datacenter', () => {
	it('fails as soon as the servers there have stood still for a heartbeat, although its own are well', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		await using one = watched([fake], { clock }, { service: 'barista', datacenter: 'dc2' });
		await blocked(fake);
		fake.silentDatacenter = 'dc2';
		const sinceMs = clock.now();
		await advance(clock, 40_000, () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'UNAVAILABLE' });
		// As for its own: a heartbeat and its deadline, in steps of the test.
		expect(clock.now() - sinceMs).toBeLessThanOrEqual(14_000);
		fake.silentDatacenter = undefined;
		const before = one.answers.length;
		await advance(clock, 40_000, () => one.answers.length > before);
		await waitFor('the answer', () => one.answers.length > before);
	});

	it('has no part in what it reports of its own, nor of a third', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul({ clock });
		await using one = watched([fake], { clock });
		await using third = watched([fake], { clock }, { service: 'barista', datacenter: 'dc3' });
		await using other = watched([fake], { clock }, { service: 'barista', datacenter: 'dc2' });
		await waitFor('three to block', () => fake.blocked === 3);
		fake.silentDatacenter = 'dc2';
		await advance(clock, 40_000, () => other.errors.length > 0);
		await advance(clock, 5000);
		expect(one.errors).toEqual([]);
		expect(third.errors).toEqual([]);
	});
});
