import { FakeClock, settle } from '@spock/testkit';
import { expect, it } from 'vitest';

import { ConsulCall } from '../client/consul-call.ts';
import { AddressHeartbeat } from './address-heartbeat.ts';

it.each([
	{ tookMs: 2000, broken: 1, againMs: 2000, what: 'ends what is held' },
	{ tookMs: 9000, broken: 0, againMs: 0, what: 'is repeated, because this process itself stood still' },
])('a heartbeat that fails after $tookMs ms $what', async ({ tookMs, broken, againMs }) => {
	const clock = new FakeClock();
	const rejections: (() => void)[] = [];
	const beat = (): Promise<void> => new Promise((_resolve, reject) => rejections.push(() => reject(new Error('late'))));
	const heartbeat = new AddressHeartbeat({ clock, random: () => 0, beat });
	const call = new ConsulCall({});
	let count = 0;
	call.on('broken', () => count++);
	const release = heartbeat.hold(call);
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

it('a heartbeat that fails at an address which is late already ends what was held before it was late', async () => {
	const clock = new FakeClock();
	const beat = async (): Promise<void> => {
		throw new Error('no server');
	};
	const heartbeat = new AddressHeartbeat({ clock, random: () => 0, beat });
	let isBroken = false;
	const held = new ConsulCall({});
	held.on('broken', () => {
		isBroken = true;
	});
	const release = heartbeat.hold(held);
	await clock.advance(3000);
	// Another request, answered after 2.5 s.
	heartbeat.answered(500);
	expect(heartbeat.isTimely).toBe(false);
	expect(isBroken).toBe(false);
	await clock.advance(1);
	const asked = new ConsulCall({});
	let isAskedBroken = false;
	asked.on('broken', () => {
		isAskedBroken = true;
	});
	const releaseAsked = heartbeat.hold(asked);
	await clock.advance(2000);
	expect({ isBroken, isAskedBroken }).toEqual({ isBroken: true, isAskedBroken: false });
	release();
	releaseAsked();
	expect(clock.pendingTimers).toBe(0);
});
