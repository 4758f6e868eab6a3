import { expect, it } from 'vitest';

import { ChangeViews } from './change-views.ts';

it('views agree once each has seen the change, or a later one', () => {
	const views = new ChangeViews(7, 4, 1000);
	views.saw(0, 6, 1001);
	views.saw(0, 7, 1010);
	views.saw(0, 8, 1500);
	views.saw(1, 8, 1020);
	views.saw(2, 7, 1030);
	expect(views.isComplete).toBe(false);
	expect([views.agreedMs(0.5), views.agreedMs(0.75), views.agreedMs(0.99)]).toEqual([20, 30, Number.POSITIVE_INFINITY]);
	views.saw(3, 7, 1040);
	expect(views.isComplete).toBe(true);
	expect(views.agreedMs(0.99)).toBe(40);
});
