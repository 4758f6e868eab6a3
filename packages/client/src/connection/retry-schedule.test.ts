import { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { resolveOptions } from '../foundation/options.ts';
import { RefusedSubscriptions, RetrySchedule, spreadMsOf, whileRefused } from './retry-schedule.ts';

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

describe('a schedule of one among many clients', () => {
	it.each([
		[undefined, 0],
		[1, 1],
		[32, 32],
		[1000, 1000],
		[100_000, 1000],
	])('of %j clients spreads its attempts over %i ms', (clients, spreadMs) => {
		expect(spreadMsOf(clients)).toBe(spreadMs);
	});

	it('tries a new listener at a point of its own, and does not look again until then', async () => {
		const { clock, retry, there, since } = schedule('first');
		retry.spreadMs = 400;
		retry.schedule(undefined);
		await clock.advance(110);
		there.mark = 'second';
		await clock.advance(25);
		there.mark = 'third';
		await clock.advance(2000);
		expect(since()).toEqual([325]);
	});

	it('waits no longer for a new listener than for the one before', async () => {
		const { clock, retry, there, since } = schedule('first');
		retry.spreadMs = 4000;
		retry.spreadMs = 400;
		retry.schedule(undefined);
		await clock.advance(450);
		there.mark = 'second';
		await clock.advance(2000);
		expect(since()).toEqual([500]);
	});

	it('waits at least a part of the spread after each failure, and for nothing once it is alone', async () => {
		const schedule = growing();
		schedule.retry.spreadMs = 4000;
		expect(await delaysAfter(schedule, 4)).toEqual([2000, 2000, 2000, 4000]);
		schedule.retry.reset();
		schedule.retry.spreadMs = 0;
		expect(await delaysAfter(schedule, 2)).toEqual([500, 1000]);
	});
});

/** The delays after so many failures in a row, each as soon as the attempt has begun. */
async function delaysAfter(
	{ clock, retry, due }: ReturnType<typeof growing>,
	count: number,
	error?: unknown,
): Promise<number[]> {
	const delays: number[] = [];
	for (let turn = 0; turn < count; turn++) {
		retry.attempt();
		const startMs = clock.now();
		retry.schedule(error);
		expect(retry.pending).toBe(true);
		await clock.advance(60_000);
		delays.push((due.pop() ?? Number.NaN) - startMs);
		expect(retry.pending).toBe(false);
	}
	return delays;
}

/** A schedule whose delays grow from 500 ms to 8 s. */
function growing() {
	const clock = new FakeClock();
	const due: number[] = [];
	const options = { clock, random: () => 0.5, unref: true, retryDelayMsMin: 1000, retryDelayMsMax: 16_000 };
	return { clock, due, retry: new RetrySchedule(options, () => due.push(clock.now())) };
}

describe('delays', () => {
	const backlogIsFull = Object.assign(new Error('connect EAGAIN'), { code: 'EAGAIN', syscall: 'connect' });

	it('double up to the longest, and start afresh after a reset', async () => {
		const schedule = growing();
		expect(await delaysAfter(schedule, 6)).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
		schedule.retry.reset();
		expect(await delaysAfter(schedule, 2)).toEqual([500, 1000]);
	});

	it('after a full backlog stay short, but only 16 times in a row, and again after a reset', async () => {
		const schedule = growing();
		const short = Array.from({ length: 16 }, () => 500);
		expect(await delaysAfter(schedule, 19, backlogIsFull)).toEqual([...short, 500, 1000, 2000]);
		schedule.retry.reset();
		expect(await delaysAfter(schedule, 18, backlogIsFull)).toEqual([...short, 500, 1000]);
	});

	it('after a reset count from the failure, and not from the attempt that succeeded', async () => {
		const { clock, retry, due } = growing();
		retry.attempt();
		await clock.advance(400);
		retry.reset();
		const startMs = clock.now();
		retry.schedule(undefined);
		await clock.advance(1000);
		expect(due.map((ms) => ms - startMs)).toEqual([500]);
	});

	it('are never shorter than a millisecond', async () => {
		const clock = new FakeClock();
		let due = 0;
		const options = { clock, random: () => 0, unref: true, retryDelayMsMin: 1000, retryDelayMsMax: 1000 };
		const retry = new RetrySchedule(options, () => due++);
		retry.schedule(backlogIsFull);
		expect([clock.nextDueMs, due]).toEqual([clock.now() + 1, 0]);
	});

	it('while a sidecar refuses do not hold the process, whatever the client does', () => {
		const clock = new FakeClock();
		const options = { clock, random: () => 0.5, unref: false, retryDelayMsMin: 1, retryDelayMsMax: 1 };
		expect(whileRefused(options)).toMatchObject({ clock, unref: true, retryDelayMsMin: 100, retryDelayMsMax: 10_000 });
	});
});

describe('refused subscriptions', () => {
	const refusal = new SpockError('UNAVAILABLE', 'not yet');

	function makeRefused() {
		const clock = new FakeClock();
		const asked: string[] = [];
		const options = resolveOptions({ path: '/nowhere', clock, random: () => 0.5 });
		return { clock, asked, refused: new RefusedSubscriptions<string>(options, (name) => asked.push(name)) };
	}

	it('are asked for again all at once, each once, but for those that are not wanted any more', async () => {
		const { clock, asked, refused } = makeRefused();
		for (const name of ['a', 'b', 'c']) refused.add(name, refusal);
		expect([refused.delete('b'), refused.delete('b'), refused.delete('d')]).toEqual([true, false, false]);
		await clock.advance(50);
		expect(asked).toEqual(['a', 'c']);
		await clock.advance(20_000);
		expect(asked).toEqual(['a', 'c']);
	});

	it('are asked for with back-off, which starts afresh once none is refused', async () => {
		const { clock, asked, refused } = makeRefused();
		const countAfter = async (ms: number): Promise<number> => {
			await clock.advance(ms);
			return asked.length;
		};
		refused.add('a', refusal);
		expect([await countAfter(49), await countAfter(1)]).toEqual([0, 1]);
		refused.add('a', refusal);
		expect([await countAfter(99), await countAfter(1)]).toEqual([1, 2]);
		refused.add('a', refusal);
		refused.accepted();
		expect([await countAfter(199), await countAfter(1)]).toEqual([2, 3]);
		refused.add('a', refusal);
		refused.accepted();
		expect([await countAfter(399), await countAfter(1)]).toEqual([3, 4]);
		refused.accepted();
		refused.add('a', refusal);
		expect([await countAfter(49), await countAfter(1)]).toEqual([4, 5]);
	});

	it('are forgotten with their timer', async () => {
		const { clock, asked, refused } = makeRefused();
		refused.add('a', refusal);
		refused.clear();
		expect(clock.pendingTimers).toBe(0);
		refused.add('b', refusal);
		await clock.advance(1000);
		expect(asked).toEqual(['b']);
	});
});
