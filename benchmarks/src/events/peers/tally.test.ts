import { describe, expect, it } from 'vitest';

import { tally } from './tally.ts';

describe('what a kill loop has lost', () => {
	it('is what an app was told is done and the store has not', () => {
		const book = { called: new Set([1, 2, 3, 4]), told: new Set([1, 2, 3]) };
		expect(tally(book, [1, 3])).toEqual({ lost: 1, duplicated: 0, unfinished: 1, told: 3 });
	});

	it('counts an event once that the store has several times, and knows those that nobody was told of', () => {
		const book = { called: new Set([1, 2, 3]), told: new Set([1]) };
		expect(tally(book, [1, 1, 1, 2, 2])).toEqual({ lost: 0, duplicated: 2, unfinished: 1, told: 1 });
	});
});
