import { describe, expect, it } from 'vitest';

import { findLeaks, type SoakSample } from './find-leaks.ts';

/** Ten samples; `held` and the heap are functions of the cycles. */
function samples(held: (cycles: number) => number, heapBytes: (cycles: number) => number): SoakSample[] {
	return Array.from({ length: 12 }, (_, index) => {
		const cycles = index * 500;
		const counts = { fds: 20, timers: 1, listeners: 3, resources: 4, held: held(cycles) };
		return { cycles, figures: { ...counts, heapBytes: heapBytes(cycles) } };
	});
}

/** Up and down, as a collector leaves it. */
const noise = (cycles: number): number => ((cycles * 7919) % 40_000) - 20_000;

describe('the search for leaks', () => {
	it('finds nothing in what comes back, however it scatters', () => {
		const { leaks } = findLeaks(
			samples(
				(cycles) => 5 + (cycles % 3),
				(cycles) => 8e6 + noise(cycles),
			),
		);
		expect(leaks).toEqual([]);
	});

	it('finds a count that stays', () => {
		const { leaks } = findLeaks(
			samples(
				(cycles) => 5 + cycles / 500,
				() => 8e6,
			),
		);
		expect(leaks).toEqual([expect.stringMatching(/^held: /)]);
	});

	it('finds a heap that grows, and measures it through the noise', () => {
		const report = findLeaks(
			samples(
				() => 5,
				(cycles) => 8e6 + 40 * cycles + noise(cycles),
			),
		);
		expect(report.leaks).toEqual([expect.stringMatching(/^heap: /)]);
		expect(report.heapBytesPerCycle).toBeGreaterThan(30);
		expect(report.heapBytesPerCycle).toBeLessThan(50);
	});
});
