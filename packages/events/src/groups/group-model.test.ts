import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ACK_WAIT_MS, GroupModel, SLOTS, type Step } from '../../test/group-model.ts';
import type { GroupMistakes } from './held-events.ts';

const pick = fc.nat(1000);
const slot = fc.nat(SLOTS - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 5,
		arbitrary: fc.record({ do: fc.constant('append'), key: fc.constantFrom('a', 'a', 'b', undefined) } as const),
	},
	{ weight: 3, arbitrary: fc.record({ do: fc.constant('open'), slot, inFlightMax: fc.integer({ min: 1, max: 4 }) }) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant('close'), slot } as const) },
	{ weight: 5, arbitrary: fc.record({ do: fc.constant('ack'), pick } as const) },
	{ weight: 4, arbitrary: fc.record({ do: fc.constant('nack'), pick } as const) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constantFrom('term', 'extend'), pick } as const) },
	{
		weight: 3,
		arbitrary: fc.record({
			do: fc.constant('advance'),
			ms: fc.constantFrom(1, 999, 1000, 2000, ACK_WAIT_MS, 20_000),
		} as const),
	},
	{ weight: 6, arbitrary: fc.record({ do: fc.constant('persist') } as const) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant('crash') } as const) },
	{ weight: 1, arbitrary: fc.record({ do: fc.constant('rewind'), pick } as const) },
);
const story = fc.record({
	order: fc.constantFrom('none', 'key', 'stream'),
	attempts: fc.constantFrom(0, 1, 2, 3),
	steps: fc.array(step, { maxLength: 60, size: 'max' }),
} as const);

/** Runs random stories; gives what went wrong in the shortest that does, if any does. */
async function tell(numRuns: number, seed: number, mistakes?: GroupMistakes): Promise<string> {
	const property = fc.asyncProperty(story, async ({ order, attempts, steps }) => {
		const model = new GroupModel(order, attempts, mistakes);
		await model.run(steps);
		if (model.faults.length > 0) throw new Error(model.faults.join('; '));
	});
	const { failed, errorInstance, counterexample } = await fc.check(property, {
		numRuns,
		seed,
		endOnFailure: mistakes !== undefined,
	});
	return failed ? `${String(errorInstance)} ${JSON.stringify(counterexample)}` : '';
}

describe('a group under any schedule of acks, failures, crashes and time', () => {
	it('delivers at least once, never what is done, each key in order and one at a time, within credit and attempts', async () => {
		expect(await tell(300, 7)).toBe('');
	});

	it.each<[keyof GroupMistakes, RegExp]>([
		['doneOnDelivery', /noted as done, but is not/],
		['doneBeforeDeadLetter', /done before its dead letter/],
		['keyReleasedOnNack', /of key/],
		['creditKeptOnNack', /was never done|place is not at the end/],
	])('a planted bug is found: %s', async (mistake, fault) => {
		expect(await tell(300, 7, { [mistake]: true })).toMatch(fault);
	});
});
