import { anyMeta, anyName, anyPort, anyTags, anyText, drawn, possibleName } from '@spock/testkit/hostile-arbitraries';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
	keyQueryKey,
	normaliseKeyQuery,
	normaliseQuery,
	queryKey,
	type ServiceQuery,
	SpockError,
	validateFuncData,
} from '../index.ts';
import { funcNames } from './func-map.ts';

const query: fc.Arbitrary<ServiceQuery> = fc.record(
	{
		service: anyName,
		tags: fc.array(anyName, { maxLength: 3 }),
		datacenter: anyName,
		meta: fc.dictionary(anyName, anyName, { maxKeys: 3 }),
		peer: anyName,
	},
	{ requiredKeys: ['service'] },
);

/** A question of its own, and one whose name is the key of the first: nobody types that by accident. */
const pair: fc.Arbitrary<readonly [ServiceQuery, ServiceQuery]> = fc.oneof(
	fc.tuple(query, query),
	query.map((one) => [one, { ...one, tags: [...(one.tags ?? [])].reverse() }] as const),
	query.map((one) => [one, { service: queryKey(one) }] as const),
	fc
		.tuple(query, anyName)
		.map(([one, name]) => [one, { ...one, service: queryKey({ ...one, service: name }) }] as const),
);

/** What a question is, by nothing that the product has a part in. */
function meaning({ service, tags = [], datacenter, meta = {}, peer }: ServiceQuery): string {
	const conditions = Object.entries(meta).sort(([left], [right]) => (left < right ? -1 : 1));
	return JSON.stringify([service, [...new Set(tags)].sort(), datacenter ?? null, conditions, peer ?? null]);
}

describe('keys of questions', () => {
	it('two questions have one key if, and only if, they are one question, whatever characters they are made of', () => {
		fc.assert(
			fc.property(pair, ([left, right]) => {
				expect(queryKey(left) === queryKey(right)).toBe(meaning(left) === meaning(right));
				expect(meaning(normaliseQuery(left))).toBe(meaning(left));
			}),
			{ numRuns: 2000 },
		);
	});

	it('so have two questions about keys', () => {
		const keyQuery = fc.record({ key: anyName, prefix: fc.boolean(), datacenter: anyName }, { requiredKeys: ['key'] });
		const keyPair = fc.oneof(
			fc.tuple(keyQuery, keyQuery),
			keyQuery.map((one) => [one, { key: keyQueryKey(one) }] as const),
			keyQuery.map((one) => [one, { key: keyQueryKey(one).slice(1) }] as const),
		);
		const same = (left: object, right: object): boolean => JSON.stringify(left) === JSON.stringify(right);
		fc.assert(
			fc.property(keyPair, ([left, right]) => {
				const isOne = same(normaliseKeyQuery(left), normaliseKeyQuery(right));
				expect(keyQueryKey(left) === keyQueryKey(right)).toBe(isOne);
			}),
			{ numRuns: 2000 },
		);
	});
});

/** Every member that any function has, each with anything in it. */
const anyData = fc.record(
	{
		...{ service: anyText, key: anyText, prefix: anyText, tags: anyTags, datacenter: anyText, meta: anyMeta },
		...{ peer: anyText, id: anyText, host: anyText, port: anyPort, note: anyText, status: anyText, bind: anyText },
		...{ versions: anyTags, client: anyText, features: anyTags, pid: anyPort, frameBytesMax: anyPort },
		...{ maxAgeMs: anyPort, weights: anyMeta, taggedAddresses: anyMeta, check: anyMeta, step: anyText, token: anyText },
	},
	{ requiredKeys: [] },
);
/** Mostly right: what is wrong in one member is not hidden by what is wrong in another. */
const oneWrong = fc
	.tuple(
		anyData,
		fc.constantFrom('service', 'tags', 'datacenter', 'meta', 'peer', 'key', 'id', 'host', 'port', 'note', 'client'),
	)
	.map(([data, member]) => ({
		...{ service: 'barista', key: 'app/limits', id: 'barista-1', port: 80, status: 'passing', versions: [1] },
		...(member in data && { [member]: (data as Record<string, unknown>)[member] }),
	}));
const CONTROL = /\p{Cc}/u;
const HALF = /\p{Cs}/u;

/** Every string in a value, with the names of members. */
function textsIn(value: unknown): string[] {
	if (typeof value === 'string') return [value];
	if (typeof value !== 'object' || value === null) return [];
	return Object.entries(value).flatMap(([name, one]) => [name, ...textsIn(one)]);
}

describe('data of requests', () => {
	it('is refused with BAD_REQUEST, which names the member, or what a handler gets is whole and is accepted again', () => {
		fc.assert(
			fc.property(fc.constantFrom(...funcNames), fc.oneof(anyData, oneWrong, anyText), (func, data) => {
				let taken: unknown;
				try {
					taken = validateFuncData(func, data);
				} catch (error) {
					expect(SpockError.is(error, 'BAD_REQUEST'), String(error)).toBe(true);
					expect(typeof (error as SpockError).details['path']).toBe('string');
					return;
				}
				expect(validateFuncData(func, JSON.parse(JSON.stringify(taken)))).toEqual(taken);
				if (func === 'ping') return;
				expect(Object.getPrototypeOf(taken ?? {})).toBe(Object.prototype);
				for (const text of textsIn(taken)) expect(text.length).toBeLessThanOrEqual(1024);
			}),
			{ numRuns: 4000 },
		);
	});

	it.each(['getService', 'getInstances', 'watchService', 'unwatchService', 'explain', 'registerService'] as const)(
		'%s: no name that a registry cannot have reaches a handler',
		(func) => {
			const names = fc.constantFrom('service', 'datacenter', 'peer');
			fc.assert(
				fc.property(names, anyName, (member, name) => {
					const data = { service: 'barista', port: 80, [member]: name };
					let taken: object;
					try {
						taken = validateFuncData(func, data) as object;
					} catch {
						return;
					}
					for (const text of textsIn(taken)) expect([text, CONTROL.test(text)]).toEqual([text, false]);
				}),
				{ numRuns: 1000 },
			);
		},
	);

	it('half of a character is refused wherever a question has one: no registry could be asked for it', () => {
		fc.assert(
			fc.property(query, (asked) => {
				let taken: unknown;
				try {
					taken = validateFuncData('watchService', asked);
				} catch {
					return;
				}
				for (const text of textsIn(taken)) expect([text, HALF.test(text)]).toEqual([text, false]);
			}),
			{ numRuns: 2000 },
		);
	});

	it('an odd name that a registry can have is accepted in every place', () => {
		fc.assert(
			fc.property(
				possibleName,
				possibleName,
				drawn((draw) => draw() < 0.5),
				(service, other, isTagged) => {
					const data = {
						service,
						datacenter: other,
						peer: other,
						meta: { [other]: other },
						...(isTagged && { tags: [other] }),
					};
					expect(validateFuncData('watchService', data)).toEqual(data);
				},
			),
		);
	});
});
