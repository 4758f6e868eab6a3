import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RetrySchedule } from './retry-schedule.ts';

/** A schedule whose delay is 500 ms, and somebody at the address. */
function schedule(mark?: string) {
	const clock = new FakeClock();
	const there = { mark, looks: 0 };
	const due: number[] = [];
	const options = { clock, random: () => 0.5, unref: true, retryDelayMsMin: 1000, retryDelayMsMax: 1000 };
	const retry = new RetrySchedule(
		options,
		() => due.push(clock.now()),
		() => {
			there.looks++;
			return there.mark;
		},
	);
	retry.attempt();
	const startMs = clock.now();
	return { clock, retry, there, since: () => due.map((ms) => ms - startMs) };
}

describe('a schedule that sees who is at the address', () => {
	it('waits its delay for the one that has just failed', async () => {
		const { clock, retry, since } = schedule('first');
		retry.schedule(undefined);
		await clock.advance(2000);
		expect(since()).toEqual([500]);
	});

	it('waits its delay while nobody is there, also when somebody has gone', async () => {
		const { clock, retry, there, since } = schedule('first');
		there.mark = undefined;
		retry.schedule(undefined);
		await clock.advance(2000);
		expect(since()).toEqual([500]);
	});

	it('tries a new one within 25 ms, and only once', async () => {
		const { clock, retry, there, since } = schedule('first');
		retry.schedule(undefined);
		await clock.advance(110);
		there.mark = 'second';
		await clock.advance(25);
		expect(since()).toEqual([125]);
		retry.attempt();
		retry.schedule(undefined);
		await clock.advance(2000);
		expect(since()).toEqual([125, 635]);
	});

	it('one that came before the loss was noticed is new as well', async () => {
		const { clock, retry, there, since } = schedule('first');
		there.mark = 'second';
		retry.schedule(undefined);
		await clock.advance(25);
		expect(since()).toEqual([25]);
	});

	it('does not wait again for an attempt that hung for longer than its delay', async () => {
		const { clock, retry, since } = schedule('first');
		await clock.advance(5000);
		retry.schedule(undefined);
		await clock.advance(10);
		expect(since()).toEqual([5001]);
	});

	it('keeps the delay that runs when it is asked for another', async () => {
		const { clock, retry, since } = schedule('first');
		retry.schedule(undefined);
		await clock.advance(110);
		retry.schedule(undefined);
		await clock.advance(2000);
		expect(since()).toEqual([500]);
	});

	it('looks no more once it is cancelled', async () => {
		const { clock, retry, there } = schedule('first');
		retry.schedule(undefined);
		retry.cancel();
		const { looks } = there;
		there.mark = 'second';
		await clock.advance(2000);
		expect(there.looks).toBe(looks);
		expect(clock.pendingTimers).toBe(0);
	});
});
