import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { QueryBudget } from './query-budget.ts';

const MINUTES = 5;

/** When each query was sent, for as long as somebody always has one to send. */
async function sent(perMinuteMax: number): Promise<number[]> {
	const clock = new FakeClock();
	const budget = new QueryBudget(clock, perMinuteMax);
	const sentAtMs: number[] = [];
	const startedAtMs = clock.now();
	while (clock.now() < startedAtMs + MINUTES * 60_000) {
		const waitMs = budget.take();
		if (waitMs === 0) sentAtMs.push(clock.now() - startedAtMs);
		else await clock.advance(waitMs);
	}
	return sentAtMs;
}

describe.each([2, 60, 600, 3000])('with %i queries a minute', (perMinuteMax) => {
	it('no minute has more, and a tenth of them may come at once', async () => {
		const sentAtMs = await sent(perMinuteMax);
		expect(sentAtMs.filter((atMs) => atMs === 0)).toHaveLength(Math.max(1, perMinuteMax / 10));
		let from = 0;
		let most = 0;
		for (const [to, atMs] of sentAtMs.entries()) {
			while ((sentAtMs[from] as number) <= atMs - 60_000) from++;
			most = Math.max(most, to - from + 1);
		}
		expect(most).toBeLessThanOrEqual(perMinuteMax);
	});
});

it.each([60, 600, 3000])('what is allowed is used: at least 85 %% of %i, minute after minute', async (perMinuteMax) => {
	const sentAtMs = await sent(perMinuteMax);
	for (let minute = 0; minute < MINUTES; minute++) {
		const count = sentAtMs.filter((atMs) => Math.floor(atMs / 60_000) === minute).length;
		expect(count).toBeGreaterThanOrEqual(perMinuteMax * 0.85);
	}
});

describe('what a quiet time leaves unused', () => {
	const taken = (take: () => boolean): number => {
		let count = 0;
		while (take()) count++;
		return count;
	};

	it('is saved for one look at every service, and no more', async () => {
		const clock = new FakeClock();
		const budget = new QueryBudget(clock, 3000);
		expect(taken(() => budget.takeSaved(850))).toBe(0);
		await clock.advance(10_000);
		expect(taken(() => budget.takeSaved(850))).toBe(450);
		await clock.advance(600_000);
		expect(taken(() => budget.takeSaved(850))).toBe(850);
		expect(taken(() => budget.takeSaved(850))).toBe(0);
	});

	it('is nothing while all is used: no minute has more than it may', async () => {
		const clock = new FakeClock();
		const budget = new QueryBudget(clock, 3000);
		taken(() => budget.take() === 0);
		for (let second = 0; second < 60; second++) {
			await clock.advance(1000);
			taken(() => budget.take() === 0);
		}
		expect(taken(() => budget.takeSaved(850))).toBe(0);
	});

	it('leaves lookups their own part', async () => {
		const clock = new FakeClock();
		const budget = new QueryBudget(clock, 3000);
		await clock.advance(60_000);
		taken(() => budget.takeSaved(850));
		expect(taken(() => budget.take() === 0)).toBe(300);
	});

	it.each([2, 30, 599])('is not saved where no more than %i a minute were allowed', async (perMinuteMax) => {
		const clock = new FakeClock();
		const budget = new QueryBudget(clock, perMinuteMax);
		await clock.advance(600_000);
		expect(taken(() => budget.takeSaved(10))).toBe(0);
		expect(taken(() => budget.takeLent(10))).toBe(0);
	});
});

it('after a failure each service may be read at once, once in a minute', async () => {
	const clock = new FakeClock();
	const budget = new QueryBudget(clock, 3000);
	const lent = (): number => {
		let count = 0;
		while (budget.takeLent(850)) count++;
		return count;
	};
	while (budget.take() === 0);
	expect([lent(), lent()]).toEqual([850, 0]);
	await clock.advance(59_000);
	expect(lent()).toBe(0);
	await clock.advance(1000);
	expect(lent()).toBe(850);
});
