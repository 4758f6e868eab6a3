import { describe, expect, it } from 'vitest';

import { LinkRate } from './link-rate.ts';

/** The time that chunks take one behind the other, each sent `lateMs` after it could be. */
function timeOf(rate: LinkRate, chunks: readonly number[], lateMs = 0): number {
	let nowMs = 1000;
	for (const bytes of chunks) nowMs += rate.delayMs(bytes, nowMs) + lateMs;
	return nowMs - 1000;
}

describe('the rate of a link', () => {
	it('is that of its bytes, in whatever chunks they come', () => {
		const [few, many] = [Array(16).fill(65_536), Array(1024).fill(1024)];
		for (const chunks of [few, many]) {
			const ms = timeOf(new LinkRate(1_048_576), chunks);
			expect(ms).toBeGreaterThan(985);
			expect(ms).toBeLessThan(1001);
		}
	});

	it('is kept though timers are late', () => {
		const ms = timeOf(new LinkRate(1_048_576), Array(256).fill(4096), 2);
		expect(ms).toBeGreaterThan(985);
		expect(ms).toBeLessThan(1005);
	});

	it('has no credit for a long rest', () => {
		const rate = new LinkRate(1000);
		expect(rate.delayMs(100, 1_000_000)).toBeCloseTo(90);
	});

	it('changes', () => {
		const rate = new LinkRate(1000);
		timeOf(rate, [1000]);
		rate.change(500);
		expect(rate.delayMs(1000, 1_000_000)).toBeCloseTo(1990);
	});
});
