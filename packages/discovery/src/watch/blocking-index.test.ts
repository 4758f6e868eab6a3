import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readIndex } from './watch-loop.ts';

describe('the blocking index', () => {
	it.each([
		{ name: 'grows with the registry', previous: 5, returned: 9, expected: { index: 9, wentBack: false } },
		{ name: 'stays when the wait ended', previous: 5, returned: 5, expected: { index: 5, wentBack: false } },
		{ name: 'is dropped when it went back', previous: 415, returned: 341, expected: { index: 0, wentBack: true } },
		{
			name: 'counts 0 as 1, because 0 never blocks',
			previous: 0,
			returned: 0,
			expected: { index: 1, wentBack: false },
		},
		{ name: 'is dropped when it fell to 0', previous: 1, returned: 0, expected: { index: 0, wentBack: true } },
	])('$name', ({ previous, returned, expected }) => {
		expect(readIndex(previous, returned)).toEqual(expected);
	});

	it('is never larger than what the registry said last, but for the 1 that stands for 0', () => {
		fc.assert(
			fc.property(fc.nat(), fc.nat(), (previous, returned) => {
				const { index } = readIndex(previous, returned);
				expect(index).toBeLessThanOrEqual(Math.max(1, returned));
			}),
		);
	});
});
