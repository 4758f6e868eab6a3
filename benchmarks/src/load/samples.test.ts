import { describe, expect, it } from 'vitest';

import { median, Samples } from './samples.ts';

function sorted(values: Iterable<number>): Samples {
	const samples = new Samples();
	for (const value of values) samples.add(value);
	samples.sort();
	return samples;
}

describe('Samples', () => {
	it('give the smallest value that a share of all does not exceed', () => {
		const samples = sorted([50, 10, 40, 20, 30]);
		const shares = [0, 0.2, 0.21, 0.5, 0.8, 0.81, 0.99, 1];
		expect(shares.map((share) => samples.percentile(share))).toEqual([10, 10, 20, 30, 40, 50, 50, 50]);
	});

	it('give p99 of a hundred as the second largest, and p999 as the largest', () => {
		const samples = sorted(Array.from({ length: 100 }, (_, index) => 100 - index));
		expect([0.5, 0.99, 0.999, 1].map((share) => samples.percentile(share))).toEqual([50, 99, 100, 100]);
	});

	it('give the only value for every share, and 0 without one', () => {
		const shares = [0, 0.5, 0.999, 1];
		expect(shares.map((share) => sorted([7]).percentile(share))).toEqual([7, 7, 7, 7]);
		expect(shares.map((share) => sorted([]).percentile(share))).toEqual([0, 0, 0, 0]);
	});

	it('sort by value and not as text', () => {
		expect(sorted([100, 9, 0.5]).percentile(1)).toBe(100);
	});

	it('keep every value when there are more than the room they begin with', () => {
		const count = 200_001;
		const samples = sorted(Array.from({ length: count }, (_, index) => (index * 7919) % count));
		expect(samples.percentile(0.5)).toBe((count - 1) / 2);
		expect([samples.percentile(0), samples.percentile(1)]).toEqual([0, count - 1]);
	});
});

describe('median', () => {
	it('is the middle value, or the mean of the middle two', () => {
		expect(median([3, 1, 2])).toBe(2);
		expect(median([4, 100, 1, 2])).toBe(3);
		expect(median([10, 9, 100])).toBe(10);
		expect(median([5])).toBe(5);
	});

	it('of nothing is no number', () => {
		expect(median([])).toBeNaN();
	});

	it('leaves what it is given as it was', () => {
		const values = [3, 1, 2];
		median(values);
		expect(values).toEqual([3, 1, 2]);
	});
});
