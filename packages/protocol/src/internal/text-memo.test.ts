import { describe, expect, it } from 'vitest';

import { TextMemo } from './text-memo.ts';

describe('TextMemo', () => {
	it('finds what was remembered, and nothing else', () => {
		const memo = new TextMemo<number>({ countMax: 8, lengthMax: 10 });
		memo.remember('one', 1);
		expect(memo.find('one')).toBe(1);
		expect(memo.find('two')).toBeUndefined();
		memo.clear();
		expect(memo.find('one')).toBeUndefined();
	});

	it('does not remember texts that are too long or beyond Latin-1', () => {
		const memo = new TextMemo<number>({ countMax: 8, lengthMax: 3 });
		memo.remember('four', 4);
		memo.remember('é', 1);
		memo.remember('ł', 2);
		expect(memo.find('four')).toBeUndefined();
		expect(memo.find('é')).toBe(1);
		expect(memo.find('ł')).toBeUndefined();
	});

	it('keeps what is in use while a flood of others passes, and stays bounded', () => {
		const memo = new TextMemo<number>({ countMax: 8, lengthMax: 100 });
		memo.remember('used', 0);
		const flood = Array.from({ length: 1000 }, (_, index) => `flood ${index}`);
		flood.forEach((text, index) => {
			memo.remember(text, index);
			expect(memo.find('used')).toBe(0);
		});
		expect(flood.filter((text) => memo.find(text) !== undefined).length).toBeLessThanOrEqual(8);
	});
});
