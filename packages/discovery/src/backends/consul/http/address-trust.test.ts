import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { AddressTrust } from './address-trust.ts';

/** What the address and the leader know, look by look; the last one stays. */
function trustOf(own: readonly number[], leaders: readonly number[]) {
	const clock = new FakeClock();
	const asked: string[] = [];
	const left = { own: [...own], leaders: [...leaders] };
	const take = (indexes: number[]): number => (indexes.length > 1 ? indexes.shift() : indexes[0]) as number;
	const trust = new AddressTrust({
		clock,
		indexAt: (number, datacenter, isLeaders) => {
			asked.push(`${number} ${datacenter ?? ''} ${isLeaders ? 'leader' : 'own'}`.replace('  ', ' '));
			return Promise.resolve(take(isLeaders ? left.leaders : left.own));
		},
	});
	const isDoubtedAfterLook = async (): Promise<boolean> => {
		await settle();
		return trust.isDoubted(0, undefined);
	};
	return { clock, trust, asked, isDoubtedAfterLook };
}

describe('an address', () => {
	it('is believed, and not looked at, while it does not fail', async () => {
		const { trust, asked, clock } = trustOf([1], [9]);
		trust.answered(0, undefined);
		await settle();
		expect([trust.isDoubted(0, undefined), asked, clock.pendingTimers]).toEqual([false, [], 0]);
	});

	it('that has failed is believed again once it knows what the leader knows, and not before', async () => {
		const { trust, clock, isDoubtedAfterLook } = trustOf([29, 100, 226], [226]);
		trust.failed(0, undefined);
		expect(await isDoubtedAfterLook()).toBe(true);
		trust.answered(0, undefined);
		expect(await isDoubtedAfterLook()).toBe(true);
		await clock.advance(100);
		expect(await isDoubtedAfterLook()).toBe(false);
		expect(clock.pendingTimers).toBe(0);
	});

	it('is believed again although the registry changes all the time', async () => {
		const { trust, isDoubtedAfterLook } = trustOf([226, 230], [228]);
		trust.failed(0, undefined);
		trust.answered(0, undefined);
		expect(await isDoubtedAfterLook()).toBe(false);
	});

	it('that knows more than the leader has not noticed a restore yet', async () => {
		const { trust, clock, isDoubtedAfterLook } = trustOf([226, 226, 40], [40]);
		trust.wentBack(0, undefined);
		trust.answered(0, undefined);
		expect(await isDoubtedAfterLook()).toBe(true);
		await clock.advance(100);
		expect(await isDoubtedAfterLook()).toBe(true);
		await clock.advance(200);
		expect(await isDoubtedAfterLook()).toBe(false);
	});

	it('that fails again while it is looked at stays in doubt', async () => {
		const { trust, isDoubtedAfterLook } = trustOf([9], [9]);
		trust.failed(0, undefined);
		trust.answered(0, undefined);
		trust.failed(0, undefined);
		expect(await isDoubtedAfterLook()).toBe(true);
	});

	it('is in doubt for the datacenter that it went back in, and no other', () => {
		const { trust } = trustOf([9], [9]);
		trust.wentBack(0, 'dc2');
		expect([trust.isDoubted(0, 'dc2'), trust.isDoubted(0, undefined), trust.isDoubted(1, 'dc2')]).toEqual([
			true,
			false,
			false,
		]);
	});

	it('is asked once, where one restore makes many indexes lower', async () => {
		const { trust, asked, isDoubtedAfterLook } = trustOf([9], [9]);
		trust.wentBack(0, undefined);
		trust.answered(0, undefined);
		expect(await isDoubtedAfterLook()).toBe(false);
		trust.wentBack(0, undefined);
		expect([trust.isDoubted(0, undefined), asked.length]).toEqual([false, 2]);
	});

	it('is not looked at any more once that is stopped', async () => {
		const { trust, clock } = trustOf([1], [9]);
		trust.failed(0, undefined);
		trust.answered(0, undefined);
		await settle();
		trust.stop();
		expect(clock.pendingTimers).toBe(0);
	});
});
