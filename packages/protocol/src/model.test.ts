import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { limitRelations } from './limits.ts';
import { isAskedFor, normaliseQuery, queryKey, type ServiceQuery } from './model.ts';

const query: fc.Arbitrary<ServiceQuery> = fc.record(
	{
		service: fc.string({ minLength: 1 }),
		tags: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 4 }),
		datacenter: fc.constantFrom('dc1', 'dc2'),
		meta: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('', '1', '2'), { maxKeys: 3 }),
		peer: fc.constantFrom('east', 'west'),
	},
	{ requiredKeys: ['service'] },
);

describe('queryKey', () => {
	it('is the same for the same question, whatever the order and repetition of tags', () => {
		expect(queryKey({ service: 'a', tags: ['y', 'x', 'y'] })).toBe(queryKey({ service: 'a', tags: ['x', 'y'] }));
		expect(queryKey({ service: 'a', tags: [] })).toBe('a');
		expect(queryKey({ service: 'a', meta: { x: '1', y: '2' } })).toBe(
			queryKey({ service: 'a', meta: { y: '2', x: '1' } }),
		);
		expect(queryKey({ service: 'a', meta: {} })).toBe('a');
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

describe('isAskedFor', () => {
	const instance = { tags: ['v1', 'x'], meta: { rack: 'b', empty: '' } };

	it.each([
		[{}, true],
		[{ tags: ['x'] }, true],
		[{ tags: ['x', 'v2'] }, false],
		[{ meta: { rack: 'b' } }, true],
		[{ meta: { rack: 'b', empty: '' } }, true],
		[{ meta: { rack: 'b', missing: '' } }, false],
		[{ tags: ['v2'], meta: { rack: 'b' } }, false],
	])('%j: %s', (query, isAsked) => {
		expect(isAskedFor({ service: 'a', ...query }, instance)).toBe(isAsked);
	});
});

describe('limits', () => {
	it.each(limitRelations)('%s', (_sentence, holds) => expect(holds).toBe(true));
});
