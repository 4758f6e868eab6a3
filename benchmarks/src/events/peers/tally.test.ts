import { describe, expect, it } from 'vitest';

import { tally } from './tally.ts';

describe('what a kill loop has lost', () => {
	it('counts as lost what was acknowledged and the store has not', () => {
		const book = { called: new Set([1, 2, 3, 4]), acknowledged: new Set([1, 2, 3]) };
		expect(tally(book, [1, 3])).toEqual({ lost: 1, duplicated: 0, unfinished: 1, acknowledged: 3 });
	});

	it('counts an event once that the store has several times, and knows those that were not acknowledged', () => {
		const book = { called: new Set([1, 2, 3]), acknowledged: new Set([1]) };
		expect(tally(book, [1, 1, 1, 2, 2])).toEqual({ lost: 0, duplicated: 2, unfinished: 1, acknowledged: 1 });
	});
});
