import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { makeScale } from './svg-axis.ts';

describe('makeScale', () => {
	it('ends a linear axis at a round value', () => {
		const scale = makeScale('linear', [3, 61]);
		expect(scale?.ticks).toEqual([0, 20, 40, 60, 80]);
		expect(scale?.position(40)).toBeCloseTo(0.5);
	});

	it('ends a tight axis at the largest value', () => {
		expect(makeScale('linear', [3, 61], { tight: true })?.position(61)).toBe(1);
		expect(makeScale('log', [20, 645], { tight: true })?.position(645)).toBe(1);
	});

	it('gives a logarithmic axis equal room for equal factors', () => {
		const scale = makeScale('log', [20, 100_000]);
		expect(scale?.ticks).toEqual([10, 100, 1000, 10_000, 100_000]);
		expect(scale?.position(1000)).toBeCloseTo(0.5);
	});

	it('adds ticks at 2 and 5 where a logarithmic axis is short', () => {
		expect(makeScale('log', [25, 100])?.ticks).toEqual([10, 20, 50, 100]);
	});

	it('has no axis for nothing, and no place for zero on a logarithmic one', () => {
		expect(makeScale('linear', [])).toBeUndefined();
		expect(makeScale('linear', [Number.NaN])).toBeUndefined();
		expect(makeScale('log', [0, -1])).toBeUndefined();
		expect(makeScale('log', [0, 5])?.position(0)).toBe(0);
	});

	it('holds every value between its ends, in order, with few ticks', () => {
		const value = fc.double({ min: 1e-3, max: 1e9, noNaN: true });
		fc.assert(
			fc.property(
				fc.array(value, { minLength: 1 }),
				fc.constantFrom('log', 'linear'),
				fc.boolean(),
				(values, kind, tight) => {
					const scale = makeScale(kind, values, { tight });
					expect(scale).toBeDefined();
					const sorted = [...values].sort((a, b) => a - b);
					const places = sorted.map((entry) => scale?.position(entry) ?? Number.NaN);
					expect(places).toEqual([...places].sort((a, b) => a - b));
					expect(places.every((place) => place >= 0 && place <= 1)).toBe(true);
					expect(scale?.ticks.length).toBeLessThan(16);
					expect(scale?.min).toBeLessThanOrEqual(sorted[0] ?? 0);
				},
			),
		);
	});
});
