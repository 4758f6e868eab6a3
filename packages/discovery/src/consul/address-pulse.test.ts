import { FakeClock, settle } from '@spock/testkit';
import { expect, it } from 'vitest';

import { AddressPulse } from './address-pulse.ts';
import { ConsulCall } from './consul-call.ts';

it.each([
	{ tookMs: 2000, broken: 1, againMs: 2000, what: 'ends what is held' },
	{ tookMs: 9000, broken: 0, againMs: 0, what: 'is repeated, because this process itself stood still' },
])('a pulse that fails after $tookMs ms $what', async ({ tookMs, broken, againMs }) => {
	const clock = new FakeClock();
	const rejections: (() => void)[] = [];
	const beat = (): Promise<void> => new Promise((_resolve, reject) => rejections.push(() => reject(new Error('late'))));
	const pulse = new AddressPulse({ clock, random: () => 0, beat });
	const call = new ConsulCall({});
	let count = 0;
	call.on('broken', () => count++);
	const release = pulse.hold(call);
	await clock.advance(5000);
	expect(rejections).toHaveLength(1);
	await clock.advance(tookMs);
	rejections[0]?.();
	await settle();
	expect(count).toBe(broken);
	await clock.advance(againMs);
	expect(rejections).toHaveLength(2);
	release();
	expect(clock.pendingTimers).toBe(0);
});
