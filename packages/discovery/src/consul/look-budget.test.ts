import { expect, it } from 'vitest';

import { LookBudget } from './look-budget.ts';

it('an edit is worth following closely where the last look has found something', () => {
	const budget = new LookBudget(0);
	expect(budget.take(0)).toBe(false);
	budget.found();
	budget.found();
	expect(budget.take(1)).toBe(true);
	expect(budget.take(2)).toBe(false);
});

it('for a minute, and then four times a minute, however much is found', () => {
	const budget = new LookBudget(0);
	let taken = 0;
	for (let second = 1; second <= 600; second++) {
		budget.found();
		if (budget.take(second * 1000)) taken++;
	}
	expect(taken).toBe(60 + 600 / 15);
});
