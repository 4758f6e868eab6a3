import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { ageClockOf, type Standstill } from './age-clock.ts';

/** An age clock with a listener; times count from when it was made. */
function listening() {
	const clock = new FakeClock();
	const ages = ageClockOf(clock);
	const sinceMs = ages.now();
	const standstills: Standstill[] = [];
	const stop = ages.onStandstill(({ beganAtMs, endedAtMs }) =>
		standstills.push({ beganAtMs: beganAtMs - sinceMs, endedAtMs: endedAtMs - sinceMs }),
	);
	return { clock, ages, standstills, stop, now: () => ages.now() - sinceMs, sentAt: () => ages.sentAtMs() - sinceMs };
}

describe('what is read', () => {
	it('was sent now, while the process runs', async () => {
		const { clock, now, sentAt, standstills } = listening();
		for (let count = 0; count < 100; count++) {
			await clock.advance(70);
			expect(sentAt()).toBe(now());
		}
		expect(standstills).toEqual([]);
	});

	it('is as old as a standstill, whether it is read before the tick that is late or after it', async () => {
		const { clock, sentAt } = listening();
		await clock.advance(500);
		// Bytes are read before timers fire.
		clock.work(20_000);
		expect(sentAt()).toBe(500);
		await clock.advance(0);
		expect(sentAt()).toBe(500);
		await clock.advance(499);
		expect(sentAt()).toBe(500);
		// By then all that waited has been read.
		await clock.advance(1);
		expect(sentAt()).toBe(21_000);
	});

	it('is as old as the first of two standstills while what waited may not have been read', async () => {
		const { clock, sentAt } = listening();
		clock.work(3000);
		await clock.advance(100);
		clock.work(3000);
		expect(sentAt()).toBe(0);
	});

	it('is as old as a suspended machine was suspended, whose monotonic clock stood still', async () => {
		const { clock, now, sentAt, standstills } = listening();
		await clock.advance(500);
		clock.wallOffsetMs += 60_000;
		expect(now()).toBe(60_500);
		expect(sentAt()).toBe(500);
		await clock.advance(500);
		expect(standstills).toEqual([{ beganAtMs: 500, endedAtMs: 60_500 }]);
	});
});

describe('a standstill', () => {
	it('is reported once, at the first tick after it, and counted as soon as it is noticed', async () => {
		const { clock, ages, standstills } = listening();
		await clock.advance(500);
		clock.work(5000);
		expect(ages.standstills).toBe(0);
		ages.now();
		expect(ages.standstills).toBe(1);
		await clock.advance(10_000);
		expect(standstills).toEqual([{ beganAtMs: 500, endedAtMs: 5500 }]);
		expect(ages.standstills).toBe(1);
	});

	it('that is short makes answers older and is not reported', async () => {
		const { clock, sentAt, standstills } = listening();
		await clock.advance(500);
		clock.work(1000);
		expect(sentAt()).toBe(500);
		await clock.advance(10_000);
		expect(standstills).toEqual([]);
	});

	it('is none when the wall clock is set back, or when there was no listener meanwhile', async () => {
		const { clock, ages, now, standstills, stop } = listening();
		clock.wallOffsetMs -= 3_600_000;
		await clock.advance(1000);
		expect(now()).toBe(1000);
		stop();
		expect(clock.pendingTimers).toBe(0);
		clock.work(60_000);
		const again = ages.onStandstill(() => standstills.push({ beganAtMs: -1, endedAtMs: -1 }));
		await clock.advance(1000);
		expect(standstills).toEqual([]);
		again();
	});
});

describe('the age of a snapshot that is read', () => {
	const known = (ageMs: number, verifiedAt: number, liveAt?: number) => ({
		ageMs,
		verifiedAt,
		...(liveAt !== undefined && { liveAt }),
	});

	it('counts from when it was live, wherever it waited', async () => {
		const { clock, ages } = listening();
		const wallMs = clock.wallNow();
		expect(ages.ageOfRead(known(2000, wallMs - 9000, wallMs - 7500))).toBe(7500);
		// Their clock is ahead by a little: it is as old as it is marked at least.
		expect(ages.ageOfRead(known(2000, wallMs, wallMs))).toBe(2000);
	});

	it('of an older sidecar counts the standstill of this process, and a short time on the way', async () => {
		const { clock, ages } = listening();
		const wallMs = clock.wallNow();
		expect(ages.ageOfRead(known(2000, wallMs - 2300))).toBe(2300);
		expect(ages.ageOfRead(known(2000, wallMs - 3_602_000))).toBe(2000);
		clock.work(8000);
		expect(ages.ageOfRead(known(2000, wallMs - 2000))).toBe(10_000);
	});
});
