import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SPINS_MIN, TokenBucket } from './token-bucket.ts';

describe('the pace of a watch', () => {
	it('lets two through at once, then one a second', () => {
		const bucket = new TokenBucket(0);
		expect([bucket.take(0, true), bucket.take(0, true), bucket.take(0, true)]).toEqual([0, 0, 1000]);
		expect(bucket.take(1000, true)).toBe(1000);
	});

	it('after a quiet time the first change is not delayed', () => {
		const bucket = new TokenBucket(0);
		for (let count = 0; count < 5; count++) bucket.take(0, true);
		expect(bucket.take(60_000, true)).toBe(0);
	});

	it('slows down to 15 s while answers keep coming that change nothing', () => {
		const bucket = new TokenBucket(0);
		let nowMs = 0;
		const waits: number[] = [];
		for (let count = 0; count < SPINS_MIN + 8; count++) {
			const waitMs = bucket.take(nowMs, false);
			waits.push(waitMs);
			nowMs += waitMs;
		}
		const atPace = Array.from({ length: SPINS_MIN }, () => 1000);
		expect(waits).toEqual([0, 0, ...atPace, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
	});

	it('a change sets the pace back to one a second', () => {
		const bucket = new TokenBucket(0);
		let nowMs = 0;
		for (let count = 0; count < SPINS_MIN + 8; count++) nowMs += bucket.take(nowMs, false);
		expect(bucket.take(nowMs, true)).toBeLessThanOrEqual(1000);
	});

	it('a quiet time sets the pace back to one a second', () => {
		const bucket = new TokenBucket(0);
		let nowMs = 0;
		for (let count = 0; count < SPINS_MIN + 8; count++) nowMs += bucket.take(nowMs, false);
		nowMs += 60_000;
		expect([bucket.take(nowMs, false), bucket.take(nowMs, false), bucket.take(nowMs, false)]).toEqual([0, 0, 1000]);
	});

	it('never lets more through than its burst and one a second, whatever comes', () => {
		const arrivals = fc.array(fc.record({ afterMs: fc.nat(3000), wasChange: fc.boolean() }), { maxLength: 60 });
		fc.assert(
			fc.property(arrivals, (steps) => {
				const bucket = new TokenBucket(0);
				const sentAtMs: number[] = [];
				let nowMs = 0;
				for (const { afterMs, wasChange } of steps) {
					nowMs += afterMs;
					// The loop asks again only when the query that it paced has been sent and answered.
					nowMs += bucket.take(nowMs, wasChange);
					sentAtMs.push(nowMs);
				}
				for (const [first, fromMs] of sentAtMs.entries()) {
					for (let last = first; last < sentAtMs.length; last++) {
						const spanMs = (sentAtMs[last] as number) - fromMs;
						expect(last - first + 1).toBeLessThanOrEqual(2 + Math.floor(spanMs / 1000) + 1);
					}
				}
			}),
		);
	});
});
