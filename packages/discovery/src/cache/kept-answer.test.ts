import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { A } from '../../test/fake-backend-source.ts';
import type { KeptValue } from '../state/state-body.ts';
import { KeptAnswer } from './kept-answer.ts';

type Kept = KeptValue<typeof A>;

const KEPT: Kept = { value: A, verifiedAt: 1 };

/** What was kept, read from a disk that the test plays. */
function reading() {
	const clock = new FakeClock();
	const told: string[] = [];
	const kept = new KeptAnswer<Kept['value']>(clock, () => told.push('due'));
	let loaded: (found: Kept | undefined) => void = () => undefined;
	kept.load(
		new Promise((resolve) => {
			loaded = resolve;
		}),
	);
	return {
		clock,
		kept,
		told,
		loaded: async (found: Kept | undefined) => {
			loaded(found);
			await settle();
		},
	};
}

describe('what an earlier process kept', () => {
	it('is due half a second after it was read', async () => {
		const { clock, kept, told, loaded } = reading();
		await loaded(KEPT);
		await clock.advance(499);
		expect(told).toEqual([]);
		await clock.advance(1);
		expect(told).toEqual(['due']);
		expect(kept.take()).toBe(KEPT);
		expect(kept.take()).toBeUndefined();
		expect(clock.pendingTimers).toBe(0);
	});

	it('holds back the news of a failure while it is read', async () => {
		const { kept, told, loaded } = reading();
		expect(kept.defer(() => told.push('later'))).toBe(true);
		await loaded(KEPT);
		expect(told).toEqual(['later']);
		expect(kept.defer(() => told.push('never'))).toBe(false);
		expect(kept.take()).toBe(KEPT);
	});

	it('holds it back for three seconds and a half at most; read later, it is due at once', async () => {
		const { clock, kept, told, loaded } = reading();
		kept.defer(() => told.push('later'));
		await clock.advance(3499);
		expect(told).toEqual([]);
		await clock.advance(1);
		expect(told).toEqual(['later']);
		expect(kept.take()).toBeUndefined();
		await loaded(KEPT);
		expect(told).toEqual(['later', 'due']);
		expect(kept.take()).toBe(KEPT);
	});

	it('is never due once it was dropped, or where there is nothing', async () => {
		const dropped = reading();
		dropped.kept.drop();
		await dropped.loaded(KEPT);
		const nothing = reading();
		await nothing.loaded(undefined);
		for (const { clock, kept, told } of [dropped, nothing]) {
			await clock.advance(5000);
			expect(told).toEqual([]);
			expect(kept.value).toBeUndefined();
			expect(clock.pendingTimers).toBe(0);
		}
	});
});
