import { describe, expect, it } from 'vitest';

import { BOUNDS, breaches, CHECKED_SHAPES } from './check.ts';
import { GOAL_ROWS } from './report/goal-rows.ts';
import { sampleCall } from './report/sample-results.ts';
import type { CallFigure, ShapeId } from './results.ts';

const ECHO = { p50Us: 100, cpuUs: 100, callsPerSecond: 1000, errors: 0 };

/** The field of a figure that each bound is about, and the goal that it is twice as bad as. */
const GOAL_OF: Readonly<Record<string, readonly [keyof typeof ECHO, figure: string, part: string]>> = {
	'one call, one core: p50': ['p50Us', 'one call at a time, one core', 'p50, to echo'],
	'one call, one core: CPU': ['cpuUs', 'one call at a time, one core', 'CPU, to echo'],
	'one call, two cores: p50': ['p50Us', 'one call at a time, two cores', 'p50, to echo'],
	'64 in flight: calls a second': ['callsPerSecond', '64 in flight', 'calls/s, to echo'],
	'1024 in flight: calls a second': ['callsPerSecond', '1024 in flight', 'calls/s, to echo'],
};

/** Figures of the product that are like the echo's but for the changes, which are well within every bound. */
function calls(shape: ShapeId, changes: Partial<CallFigure> = {}): CallFigure[] {
	return [...CHECKED_SHAPES].flatMap((each) => [
		{ ...sampleCall('echo', each), ...ECHO },
		// At 1024 in flight the product is to make several times the calls of the echo.
		{ ...sampleCall('spock', each), ...ECHO, callsPerSecond: 4000, ...(each === shape && changes) },
	]);
}

function sentences(figures: readonly CallFigure[]): string[] {
	return breaches(figures).map(({ sentence }) => sentence);
}

describe('the bounds', () => {
	it.each(BOUNDS)(
		'$what: is twice as bad as its goal, four times with 1024 in flight',
		({ what, shape, most, least }) => {
			const [, figure, name] = GOAL_OF[what] ?? [];
			const goal = GOAL_ROWS.find((row) => row.figure === figure)?.parts.find((part) => part.what === name);
			expect(goal?.wanted).toBe(most === undefined ? 'at least' : 'at most');
			const width = shape === '1024-in-flight' ? 4 : 2;
			expect(most ?? least).toBe(most === undefined ? (goal?.goal ?? 0) / width : (goal?.goal ?? 0) * width);
		},
	);

	it('look at every shape that they name, once', () => {
		expect([...CHECKED_SHAPES]).toEqual(['one-core', 'two-cores', '64-in-flight', '1024-in-flight']);
		expect(Object.keys(GOAL_OF)).toEqual(BOUNDS.map(({ what }) => what));
	});

	it.each(BOUNDS)('$what: holds up to the bound and breaches past it', ({ what, shape, most, least }) => {
		const [field = 'p50Us'] = GOAL_OF[what] ?? [];
		const bound = (most ?? least ?? 0) * ECHO[field];
		const outwards = most === undefined ? -1 : 1;
		const at = (value: number): string[] => sentences(calls(shape, { [field]: value }));
		expect(at(bound - outwards * 0.001 * bound)).toEqual([]);
		expect(at(bound)).toEqual([]);
		expect(at(bound + outwards * 0.001 * bound)).toEqual([
			expect.stringMatching(new RegExp(`^${what}: .* the bound is ${most ?? least}$`)),
		]);
	});
});

describe('breaches', () => {
	it('tell of calls that failed, however fast the others were', () => {
		expect(sentences(calls('two-cores', { errors: 3, p50Us: 1 }))).toEqual([
			'one call, two cores: p50: 3 calls failed',
		]);
	});

	it('tell of a ratio that is no number', () => {
		expect(breaches(calls('two-cores', { p50Us: Number.NaN }))).toHaveLength(1);
		expect(breaches(calls('64-in-flight', { callsPerSecond: Number.NaN }))).toHaveLength(1);
	});

	it('throw when a figure is missing, because that is no pass', () => {
		const complete = calls('one-core');
		const without = (contender: string, shape: ShapeId): CallFigure[] =>
			complete.filter((figure) => figure.contender !== contender || figure.shape !== shape);
		for (const shape of CHECKED_SHAPES) {
			for (const contender of ['spock', 'echo']) {
				expect(() => breaches(without(contender, shape))).toThrow(`${contender} was not measured under ${shape}`);
			}
		}
		expect(() => breaches([])).toThrow('was not measured');
	});

	it('do not take the figures of a busy node for those of an idle one', () => {
		const busy = calls('one-core').map((figure) => ({ ...figure, busy: true, p50Us: 1e6 }));
		expect(() => breaches(busy)).toThrow('was not measured');
		expect(breaches([...busy, ...calls('one-core')])).toEqual([]);
	});
});
