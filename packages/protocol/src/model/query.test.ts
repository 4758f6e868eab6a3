import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limitRelations } from '../foundation/limits.ts';
import { validateQuery } from '../messages/validate-func-data.ts';
import { keyQueryKey, normaliseKeyQuery } from './key-model.ts';
import {
	hasConditions,
	isAskedFor,
	isSameScope,
	normaliseQuery,
	queryKey,
	queryLabel,
	queryMembers,
	queryPhrase,
	readQuery,
	type ServiceQuery,
	scopeKey,
	scopeOf,
} from './query.ts';

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

describe('the members of a query', () => {
	const values = { name: 'x', names: ['x'], pairs: { x: 'y' } };

	it.each(queryMembers)(
		'$name is read, checked, shown and part of the key',
		({ name: member, kind, role, of, flag }) => {
			const asked = { service: 'a', [member]: values[kind] };
			expect(of(asked)).toBe(values[kind]);
			expect(validateQuery({ ...asked, unknown: 1 })).toEqual(asked);
			expect(normaliseQuery(asked)).toEqual(asked);
			expect(readQuery('a', { ...asked, revision: 1 })).toEqual(asked);
			expect(queryKey(asked)).not.toBe('a');
			expect(queryLabel(asked)).toContain('x');
			expect(queryPhrase(asked, role)).toMatch(/^ .*x/);
			expect(flag).toMatch(/^[a-z]+$/);
			expect(() => validateQuery({ service: 'a', [member]: 7 })).toThrow(
				expect.objectContaining({ code: 'BAD_REQUEST', details: { path: member } }),
			);
			expect(() => validateQuery({ service: 'a', [member]: null })).not.toThrow();
		},
	);

	it('are no others, whatever else an object has', () => {
		const hostile = JSON.parse('{"service":"a","__proto__":{"peer":"x"},"constructor":{"tags":["x"]}}') as ServiceQuery;
		expect(validateQuery(hostile)).toEqual({ service: 'a' });
		expect(queryKey(hostile)).toBe('a');
		expect(Object.keys(normaliseQuery(hostile))).toEqual(['service']);
		expect(Object.keys(readQuery('a', { ...hostile }))).toEqual(['service']);
	});

	it('are left out of a snapshot where they have another type', () => {
		const members = { tags: [1], datacenter: 2, meta: { a: 3 }, peer: ['x'] };
		expect(readQuery('a', members)).toEqual({ service: 'a' });
	});

	it('tell the services of two scopes apart, and no conditions', () => {
		const [one, other] = [
			{ service: 'a', datacenter: 'x' },
			{ service: 'a', peer: 'x' },
		];
		expect(isSameScope(one, other)).toBe(false);
		expect(scopeKey(one)).not.toBe(scopeKey(other));
		const tagged: ServiceQuery = { ...one, tags: ['v2'] };
		expect(isSameScope(one, tagged)).toBe(true);
		expect(scopeKey(one)).toBe(scopeKey(tagged));
		expect(scopeOf(tagged)).toEqual(one);
		expect([hasConditions(one), hasConditions(tagged)]).toEqual([false, true]);
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
