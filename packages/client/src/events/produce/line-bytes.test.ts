import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { LineBytes } from './line-bytes.ts';

const text = fc.oneof(
	fc.string({ unit: 'binary', maxLength: 40 }),
	fc
		.tuple(fc.constantFrom('x', 'é', '漢', '😀'), fc.integer({ min: 1, max: 30_000 }))
		.map(([one, count]) => one.repeat(count)),
);

describe('lines as bytes', () => {
	it('are the UTF-8 of the lines in order, whatever their length, and taken once', () => {
		const run = (rounds: readonly (readonly string[])[]): void => {
			const lines = new LineBytes();
			const taken: Buffer[] = [];
			for (const round of rounds) {
				for (const line of round) lines.add(line);
				const expected = Buffer.from(round.join(''));
				expect(lines.bytes).toBe(expected.length);
				taken.push(...lines.take());
				expect(lines.bytes).toBe(0);
				expect(lines.take()).toEqual([]);
			}
			// What was taken is not written over by what came later.
			expect(Buffer.concat(taken).equals(Buffer.from(rounds.flat().join('')))).toBe(true);
		};
		fc.assert(fc.property(fc.array(fc.array(text, { maxLength: 12 }), { maxLength: 6 }), run), { numRuns: 100 });
	});
});
