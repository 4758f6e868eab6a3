import { describe, expect, it } from 'vitest';

import { ForwardModel, runForwarding } from '../../test/forward-model.ts';
import type { ForwardMistakes } from './forwarder.ts';

const RUNS = 150;

describe('forwarding under any schedule of crashes, failures, refusals and stores that go back', () => {
	it('stores every event once and in order, and parks every refused one once', async () => {
		expect(await runForwarding(RUNS)).toBe('');
	});

	it('is tried with everything that can happen', async () => {
		const sum = { stored: 0, parked: 0, wentBack: 0, crashes: 0, letGo: 0 };
		for (let seed = 1; seed <= 50; seed++) {
			const model = new ForwardModel(seed);
			await model.run();
			for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += model.counts[name];
		}
		for (const [name, count] of Object.entries(sum)) expect(count, name).toBeGreaterThan(20);
	});

	it.each<[keyof ForwardMistakes, RegExp]>([
		['advancesOnSend', /lost/],
		['keepsInFlight', /lost|twice|order/],
		['refusedBlocks', /lost|not parked/],
		['parksFirstOfBatch', /lost|parked, but not refused/],
		['parksOnFailure', /lost|parked, but not refused/],
		['stepsBackTooShort', /lost/],
		['ignoresHold', /lost/],
		['letsGoHeld', /lost/],
	])('a planted bug is found: %s', async (mistake, fault) => {
		expect(await runForwarding(RUNS, { [mistake]: true })).toMatch(fault);
	});
});
