import { FakeClock, type FakeConsul, settle, startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { blocked, watched } from '../../test/watched-backend.ts';

/** More than a pulse and its deadline, and much less than the wait of a query. */
const SILENCE_MS = 10_000;

/** Moves the clock on in steps, so that real sockets have their turn, until the condition holds or the time is over. */
async function advance(clock: FakeClock, ms: number, isDone: () => boolean = () => false): Promise<void> {
	for (let passedMs = 0; passedMs < ms && !isDone(); passedMs += 250) {
		await clock.advance(250);
		// A pulse on its way crosses loopback within some turns of the loop.
		for (let turn = 0; turn < 20; turn++) await settle();
	}
}

const pulses = (fake: FakeConsul): number => fake.pulses;

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

	it('is told to have failed where it is the only one, and asked again until it answers', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watched([fake], { clock });
		await blocked(fake);
		fake.hold(true);
		await advance(clock, SILENCE_MS, () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'UNAVAILABLE' });
		expect(one.errors[0]?.message).toMatch(/nothing was heard/);
		fake.hold(false);
		await advance(clock, SILENCE_MS, () => one.answers.length > 1);
		await waitFor('the answer', () => one.answers.length > 1);
	});

	it('is not left where it answers pulses, whatever the status is', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watched([fake], { clock });
		await blocked(fake);
		fake.pulseStatus = 403;
		await advance(clock, 30_000);
		expect(pulses(fake)).toBeGreaterThanOrEqual(4);
		expect(pulses(fake)).toBeLessThanOrEqual(6);
		expect(one.errors).toEqual([]);
		expect(fake.blocked).toBe(1);
	});

	it('is asked by one pulse however many queries it holds, and by none when it holds none', async () => {
		const clock = new FakeClock();
		await using fake = await startFakeConsul();
		await using one = watched([fake], { clock });
		const nobody = { answered: () => undefined, failed: () => undefined };
		for (const service of ['a', 'b', 'c']) one.backend.watch({ service }, nobody);
		await waitFor('four to block', () => fake.blocked === 4);
		await advance(clock, SILENCE_MS, () => pulses(fake) > 0);
		expect(pulses(fake)).toBe(1);
		await one.backend.close();
		expect(clock.pendingTimers).toBe(0);
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
		const isLooked = (): boolean => first.requests.some(({ path }) => path === '/v1/status/leader');
		await advance(clock, 25_000, isLooked);
		await waitFor('the look', isLooked);
		await advance(clock, 500);
		second.touch();
		await advance(clock, 2000, () => first.blocked === 1);
		await blocked(first);
		expect(one.errors).toEqual([]);
	});
});
