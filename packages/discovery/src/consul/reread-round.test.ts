import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RereadRound } from './reread-round.ts';

function createRound({ lengthMs = 1000, restMs = 0, size = 1000, needs = (_one: number): boolean => true } = {}) {
	const clock = new FakeClock();
	const turns: { readonly one: number; readonly atMs: number }[] = [];
	const startMs = clock.now();
	const round = new RereadRound<number>({
		clock,
		lengthMs,
		restMs,
		size: () => size,
		turn: (one) => {
			if (needs(one)) turns.push({ one, atMs: clock.now() - startMs });
			return needs(one);
		},
	});
	return { clock, round, turns };
}

describe('a round of turns', () => {
	it('gives each its turn once within its length, evenly spread, in their order', async () => {
		const { clock, round, turns } = createRound();
		for (let one = 0; one < 1000; one++) round.add(one);
		await clock.advance(500);
		expect(turns.length).toBeGreaterThanOrEqual(490);
		expect(turns.length).toBeLessThanOrEqual(510);
		await clock.advance(500);
		expect(turns.map(({ one }) => one)).toEqual(Array.from({ length: 1000 }, (_, one) => one));
		expect(clock.pendingTimers).toBe(0);
	});

	it('of few it gives one at a time', async () => {
		const { clock, round, turns } = createRound({ lengthMs: 30_000, size: 3 });
		for (let one = 0; one < 3; one++) round.add(one);
		await clock.advance(30_000);
		expect(turns.map(({ atMs }) => atMs)).toEqual([10_000, 20_000, 30_000]);
	});

	it('gives nobody a turn before the rest is over, and keeps the place of who is added twice', async () => {
		const { clock, round, turns } = createRound({ restMs: 1000, size: 1000 });
		round.add(1);
		await clock.advance(600);
		round.add(2);
		round.add(1);
		await clock.advance(399);
		expect(turns).toEqual([]);
		await clock.advance(1000);
		expect(turns.map(({ one }) => one)).toEqual([1, 2]);
	});

	it('passes over who needs no turn any more, and who was taken out', async () => {
		const { clock, round, turns } = createRound({ size: 2, needs: (one) => one !== 1 });
		for (const one of [1, 2, 3]) round.add(one);
		round.delete(2);
		await clock.advance(500);
		expect(turns.map(({ one }) => one)).toEqual([3]);
	});

	it('stopped it gives none, and leaves no timer', async () => {
		const { clock, round, turns } = createRound();
		round.add(1);
		round.stop();
		round.stop();
		expect(clock.pendingTimers).toBe(0);
		await clock.advance(5000);
		expect(turns).toEqual([]);
	});
});
