import { expect, it } from 'vitest';

import { formatCount, formatDuration, shortDuration } from './figures.ts';

it('durations are as people say them, in at most two units', () => {
	const spoken = (ms: number): string => formatDuration(ms);
	expect([-1, 0, 0.4, 202, 999.9].map(spoken)).toEqual(['0 ms', '0 ms', '0 ms', '202 ms', '999 ms']);
	expect([1000, 4190, 9999, 10_000, 59_999].map(spoken)).toEqual(['1.0 s', '4.1 s', '9.9 s', '10 s', '59 s']);
	expect([60_000, 227_000, 3_599_999].map(spoken)).toEqual(['1m', '3m 47s', '59m 59s']);
	expect([3_600_000, 7_500_000, 86_400_000, 86_400_000 * 9 + 11_000_000].map(spoken)).toEqual([
		'1h',
		'2h 5m',
		'1d',
		'9d 3h',
	]);
});

it('short durations have at most four characters', () => {
	const durations = [-5, 0, 999, 999.7, 1000, 59_499, 60_000, 3_599_000, 3_600_000, 86_400_000 * 9].map(shortDuration);
	expect(durations).toEqual(['0ms', '0ms', '999ms', '1s', '1s', '59s', '1m', '59m', '1h', '9d']);
});

it('one is singular', () => {
	expect([0, 1, 2].map((count) => formatCount(count, 'reader'))).toEqual(['0 readers', '1 reader', '2 readers']);
});
