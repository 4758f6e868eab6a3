import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { keyQueryKey, normaliseKeyQuery } from './key-model.ts';
import { limitRelations } from './limits.ts';
import { isAskedFor, normaliseQuery, queryKey, type ServiceQuery } from './model.ts';

/** What the keys themselves are made of, and what trips up objects, JSON and UTF-8. */
const part = fc.constantFrom('a', 'b', '\n', '[', ']', '"', ',', ':', '{', '}', '=', '\\', ' ', 'null', '\0', '\u2028');
const odd = fc.constantFrom(
	'__proto__',
	'constructor',
	'\ud800',
	'\udc00',
	's'.repeat(512),
	'a\n[["b"],null,null,null]',
);
const name = fc.oneof(
	{ weight: 4, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('')) },
	{ weight: 1, arbitrary: odd },
);
const query: fc.Arbitrary<ServiceQuery> = fc.record(
	{
		service: name,
		tags: fc.array(name, { maxLength: 3 }),
		datacenter: name,
		meta: fc.array(fc.tuple(name, fc.oneof(name, fc.constant(''))), { maxLength: 2 }).map(Object.fromEntries),
		peer: name,
	},
	{ requiredKeys: ['service'] },
);
/** Written as the key of another question is, in each way that a name could. */
const asName = query.map((other) => ({ service: queryKey(other) }));
const isSame = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

describe('queryKey', () => {
	it('is the same for the same question, whatever the order and repetition of tags', () => {
		expect(queryKey({ service: 'a', tags: ['y', 'x', 'y'] })).toBe(queryKey({ service: 'a', tags: ['x', 'y'] }));
		expect(queryKey({ service: 'a', tags: [] })).toBe('a');
		expect(queryKey({ service: 'a', meta: { x: '1', y: '2' } })).toBe(
			queryKey({ service: 'a', meta: { y: '2', x: '1' } }),
		);
		expect(queryKey({ service: 'a', meta: {} })).toBe('a');
	});

	it('tells different questions apart, whatever their names are made of', () => {
		fc.assert(
			fc.property(query, fc.oneof(query, asName), (left, right) => {
				expect(queryKey(left) === queryKey(right)).toBe(isSame(normaliseQuery(left), normaliseQuery(right)));
			}),
			{ numRuns: 2000 },
		);
	});

	it('is no key of another question that is the name of a service', () => {
		fc.assert(
			fc.property(query, (asked) => {
				const named = { service: queryKey(asked) };
				expect(queryKey(named) === queryKey(asked)).toBe(isSame(normaliseQuery(named), normaliseQuery(asked)));
			}),
		);
	});
});

describe('keyQueryKey', () => {
	it('tells different questions apart, whatever the keys are made of', () => {
		const asked = fc.record({ key: name, prefix: fc.boolean(), datacenter: name }, { requiredKeys: ['key'] });
		fc.assert(
			fc.property(
				asked,
				fc.oneof(
					asked,
					asked.map((other) => ({ key: keyQueryKey(other) })),
				),
				(left, right) => {
					const same = isSame(normaliseKeyQuery(left), normaliseKeyQuery(right));
					expect(keyQueryKey(left) === keyQueryKey(right)).toBe(same);
				},
			),
			{ numRuns: 2000 },
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
