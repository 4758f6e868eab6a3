import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isDeeperThan } from './json-depth.ts';

/** Levels of objects and arrays. */
function depthOf(value: unknown): number {
	if (typeof value !== 'object' || value === null) return 0;
	return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe('the depth of JSON text', () => {
	it('is that of the value, however wide it is and whatever its strings hold', () => {
		const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('[', ']', '{', '}', '"', '\\', ',') }));
		const { value } = fc.letrec((tie) => ({
			value: fc.oneof(
				{ depthSize: 'small' },
				text,
				fc.integer(),
				fc.array(tie('value'), { maxLength: 4 }),
				fc.dictionary(text, tie('value'), { maxKeys: 4 }),
			),
		}));
		fc.assert(
			fc.property(value, fc.nat(5), (json, depthMax) => {
				expect(isDeeperThan(JSON.stringify(json), depthMax)).toBe(depthOf(json) > depthMax);
			}),
			{ numRuns: 300 },
		);
	});

	it('counts open levels, and not those that were closed: a long list of small objects is not deep', () => {
		expect(isDeeperThan(JSON.stringify(Array.from({ length: 1000 }, () => ({ a: [] }))), 3)).toBe(false);
		expect(isDeeperThan(JSON.stringify(Array.from({ length: 1000 }, () => ({ a: [] }))), 2)).toBe(true);
	});

	it.each([
		['["[[["]', 1],
		['["\\"[[["]', 1],
		['["\\\\",[]]', 2],
		['{"a":"}"}', 1],
	])('%s has %d levels', (text, levels) => {
		expect([isDeeperThan(text, levels), isDeeperThan(text, levels - 1)]).toEqual([false, true]);
	});

	it('says something of text that is no JSON, too', () => {
		expect(isDeeperThan('[[[', 2)).toBe(true);
		expect(isDeeperThan(']]][[', 2)).toBe(false);
		expect(isDeeperThan('"[[[', 2)).toBe(false);
	});
});
