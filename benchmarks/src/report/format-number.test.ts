import { describe, expect, it } from 'vitest';

import {
	formatCount,
	formatMicroseconds,
	formatNumber,
	formatOptional,
	formatRatio,
	formatTick,
	ratioOf,
} from './format-number.ts';

describe('formatNumber', () => {
	it.each([
		[0, '0'],
		[0.0333, '0.0333'],
		[1.2, '1.20'],
		[9.999, '10.0'],
		[26.74, '26.7'],
		[999.6, '1,000'],
		[1234, '1,230'],
		[1_180_432, '1,180,000'],
		[-4.567, '-4.57'],
		[Number.NaN, 'not measured'],
	])('writes %d as %s', (value, text) => expect(formatNumber(value)).toBe(text));
});

describe('other formats', () => {
	it('keeps every digit of a count', () => expect(formatCount(1_234_567)).toBe('1,234,567'));

	it('chooses the unit of a duration', () => {
		expect([21, 1234, 2_500_000].map(formatMicroseconds)).toEqual(['21.0 µs', '1.23 ms', '2.50 s']);
	});

	it('writes small ratios as fractions', () => {
		expect([1.274, 0.852, 1 / 24, 277.2].map(formatRatio)).toEqual(['1.27x', '0.852x', '1/24.0', '277x']);
	});

	it('shortens ticks', () => {
		expect([0.5, 200, 5000, 20_000, 1_000_000].map(formatTick)).toEqual(['0.5', '200', '5,000', '20k', '1M']);
	});

	it('says where a figure is missing', () => {
		expect([formatOptional(null), formatOptional(undefined), formatOptional(2)]).toEqual([
			'not measured',
			'not measured',
			'2.00',
		]);
	});

	it('gives no ratio to nothing', () => {
		expect([ratioOf(1, undefined), ratioOf(null, 2), ratioOf(1, 0), ratioOf(1, 4)]).toEqual([
			undefined,
			undefined,
			undefined,
			0.25,
		]);
	});
});
