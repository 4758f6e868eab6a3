import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { QueryBudget } from './query-budget.ts';

const MINUTES = 5;

/** When each query was sent, for as long as there is always one to send. */
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
