import { describe, expect, it } from 'vitest';

import { coverageReport } from './coverage-report.js';

const at = (line: number) => ({ start: { line }, end: { line } });

/** A file whose branches have two ways each: the first is taken, the second as said. */
function file(taken: readonly boolean[]) {
	return {
		b: Object.fromEntries(taken.map((second, index) => [index, [1, second ? 1 : 0]])),
		branchMap: Object.fromEntries(
			taken.map((_, index) => [index, { loc: at(index + 1), locations: [at(index + 1), { start: {}, end: {} }] }]),
		),
	};
}

describe('the report of coverage', () => {
	it('passes at the limit, and counts each package by itself', () => {
		const coverage = {
			'/x/packages/a/src/one.ts': file([true, true, true, true, false]),
			'/x/packages/b/src/two.ts': file([true]),
			'/x/packages/other/src/three.ts': file([false, false]),
		};
		const { text, isGood } = coverageReport(coverage, ['a', 'b'], 90);
		expect(isGood).toBe(true);
		expect(text).toMatch(/^a +1 +10 +9 +90\.00$/m);
		expect(text).toMatch(/^b +1 +2 +2 +100\.00$/m);
		expect(text).not.toContain('three.ts');
	});

	it('below it names the package, how much is missing, and its worst files with the lines', () => {
		const coverage = {
			'/x/packages/a/src/good.ts': file([true, true]),
			'/x/packages/a/src/some.ts': file([true, false]),
			'/x/packages/a/src/worst.ts': file([false, true, false]),
			'/x/packages/b/src/two.ts': file([true]),
		};
		const { text, isGood } = coverageReport(coverage, ['a', 'b'], 95);
		expect(isGood).toBe(false);
		expect(text).toContain('packages/a has 78.57 % of its branches taken, and needs 95 %: 3 more');
		expect(text.indexOf('worst.ts at lines 1, 3')).toBeLessThan(text.indexOf('some.ts at lines 2'));
		expect(text).not.toMatch(/good\.ts|packages\/b has/);
	});

	it('a package of which nothing was seen fails: the run did not load it', () => {
		expect(coverageReport({}, ['a'], 95)).toMatchObject({ isGood: false, text: expect.stringContaining('packages/a') });
	});
});
