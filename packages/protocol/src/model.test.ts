import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { limitRelations } from './limits.ts';
import { normaliseQuery, queryKey, type ServiceQuery } from './model.ts';

const query: fc.Arbitrary<ServiceQuery> = fc.record(
	{
		service: fc.string({ minLength: 1 }),
		tags: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }),
		datacenter: fc.constantFrom('dc1', 'dc2'),
	},
	{ requiredKeys: ['service'] },
);

describe('queryKey', () => {
	it('is the same for the same question, whatever the order and repetition of tags', () => {
		expect(queryKey({ service: 'a', tags: ['y', 'x', 'y'] })).toBe(queryKey({ service: 'a', tags: ['x', 'y'] }));
		expect(queryKey({ service: 'a', tags: [] })).toBe('a');
	});

	it('tells different questions apart', () => {
		fc.assert(
			fc.property(query, query, (left, right) => {
				const same = JSON.stringify(normaliseQuery(left)) === JSON.stringify(normaliseQuery(right));
				expect(queryKey(left) === queryKey(right)).toBe(same);
			}),
		);
	});
});

describe('limits', () => {
	it.each(limitRelations)('%s', (_sentence, holds) => expect(holds).toBe(true));
});
