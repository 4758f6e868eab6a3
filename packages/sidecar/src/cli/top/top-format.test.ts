import { expect, it } from 'vitest';

import { age, bars, fit, quantile, shortNumber } from './top-format.ts';

it('numbers and ages have few characters', () => {
	const numbers = [0, 0.25, 7, 999, 1000, 1234, 34_000, 999_999, 5_600_000, 2e9].map(shortNumber);
	expect(numbers).toEqual(['0', '0.3', '7', '999', '1.0k', '1.2k', '34k', '1.0M', '5.6M', '2.0G']);
	expect([age(null, 5), age(1000, 3000)]).toEqual(['-', '2s']);
});

it('text is just as wide as it shall be', () => {
	expect([fit('abc', 5), fit('abc', 5, 'right'), fit('abcdef', 4), fit('abc', 0)]).toEqual([
		'abc  ',
		'  abc',
		'abc…',
		'',
	]);
});

it('bars and quantiles are of the counts', () => {
	expect([bars([0, 1, 4, 8]), bars([]), bars([0])]).toEqual(['·▁▄█', '', '·']);
	expect([quantile([1, 2], [9, 1, 0], 0.5), quantile([1, 2], [9, 1, 0], 0.99), quantile([1], [0, 5], 0.5)]).toEqual([
		1,
		2,
		undefined,
	]);
	expect(quantile([1, 2], [0, 0, 0], 0.5)).toBeUndefined();
});
