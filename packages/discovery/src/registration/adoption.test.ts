import { SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { OwnedInstance } from '../foundation/registrar.ts';
import { Adoption } from './adoption.ts';

/** An adoption at a registry whose answers the test gives, one after the other. */
function adopting() {
	const clock = new FakeClock();
	const answers: { resolve(found: readonly OwnedInstance[]): void; reject(error: unknown): void }[] = [];
	const told: string[] = [];
	const adoption = new Adoption({
		clock,
		random: () => 0.5,
		againAfterMs: 30_000,
		find: () => new Promise((resolve, reject) => answers.push({ resolve, reject })),
		found: (instances) => told.push(`found ${instances.length}`),
		failed: ({ message }) => told.push(message),
	});
	return { clock, answers, told, adoption };
}

describe('what was registered before a restart', () => {
	it('is asked for once at a time, until the registry answers', async () => {
		const { clock, answers, told, adoption } = adopting();
		await adoption.settled(undefined);
		adoption.start();
		adoption.start();
		let isSettled = false;
		void adoption.settled(undefined).then(() => {
			isSettled = true;
		});
		answers[0]?.reject(new SpockError('UNAVAILABLE', 'away'));
		await settle();
		await clock.advance(5000);
		expect([answers.length, isSettled]).toEqual([2, false]);
		answers[1]?.resolve([]);
		await settle();
		expect(told).toEqual(['away', 'found 0']);
		expect(isSettled).toBe(true);
		await clock.advance(30_000);
		expect(answers).toHaveLength(3);
		answers[2]?.reject(new SpockError('UNAVAILABLE', 'away again'));
		await clock.advance(5000);
		answers[3]?.resolve([]);
		await settle();
		expect(told).toEqual(['away', 'found 0', 'found 0']);
		await clock.advance(120_000);
		expect([answers.length, clock.pendingTimers]).toEqual([4, 0]);
	});

	it.each(['answers', 'fails'])('is nobody’s any more when it is stopped before the registry %s', async (how) => {
		const { clock, answers, told, adoption } = adopting();
		adoption.start();
		adoption.stop();
		if (how === 'answers') answers[0]?.resolve([]);
		else answers[0]?.reject(new SpockError('UNAVAILABLE', 'away'));
		await clock.advance(60_000);
		expect([told, answers.length, clock.pendingTimers]).toEqual([[], 1, 0]);
		adoption.start();
		expect(answers).toHaveLength(1);
	});

	it('who waits for it may stop waiting', async () => {
		const { adoption } = adopting();
		adoption.start();
		await adoption.settled(AbortSignal.abort());
		const stop = new AbortController();
		const waiting = adoption.settled(stop.signal);
		stop.abort();
		await waiting;
		adoption.stop();
	});
});
