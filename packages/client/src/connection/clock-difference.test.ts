import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';

import { ClockDifference } from './clock-difference.ts';

/** Round trips to a machine whose clock is ahead by this much, with this much of the time on the way there. */
function measuring() {
	const clock = new FakeClock();
	const difference = new ClockDifference(clock);
	return {
		difference,
		trip: (aheadMs: number, thereMs: number, backMs: number): void => {
			const answered = difference.ask();
			clock.work(thereMs);
			const time = clock.wallNow() + aheadMs;
			clock.work(backMs);
			answered({ time });
		},
		answered: (data: unknown) => difference.ask()(data),
	};
}

it('the smallest round trip counts', () => {
	const { difference, trip } = measuring();
	trip(5000, 0, 800);
	expect(difference.aheadMs).toBe(4600);
	trip(5000, 1, 1);
	trip(5000, 900, 0);
	expect(difference.aheadMs).toBe(5000);
});

it('a difference that is no more than the error of its measurement is none', () => {
	const { difference, trip } = measuring();
	trip(1, 20, 30);
	expect(difference.aheadMs).toBe(0);
	trip(-2, 1, 0);
	expect(difference.aheadMs).toBe(0);
});

it('a clock that is set is noticed at the next round trip', () => {
	const { difference, trip } = measuring();
	trip(0, 1, 1);
	trip(-60_000, 10, 10);
	expect(difference.aheadMs).toBe(-60_000);
	trip(0, 2, 2);
	expect(difference.aheadMs).toBe(0);
});

it('a sidecar that does not send its time is believed to have the same', () => {
	const { difference, answered, trip } = measuring();
	for (const data of [null, { time: true }, { time: 'noon' }, 'pong', undefined]) answered(data);
	expect(difference).toMatchObject({ aheadMs: 0, isKnown: false });
	trip(9000, 1, 1);
	expect(difference).toMatchObject({ aheadMs: 9000, isKnown: true });
});
