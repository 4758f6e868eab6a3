import { describe, expect, it } from 'vitest';

import type { BenchResults, CallFigure, ShapeId } from '../results.ts';
import type { GoalPart } from './goal.ts';
import { GOAL_ROWS } from './goal-rows.ts';
import { formatGoalBound, formatGoalValue, type GoalFinding, judgeGoal, judgeGoals } from './goals.ts';
import { emptyResults, sampleCall, sampleResults } from './sample-results.ts';

function part(wanted: GoalPart['wanted'], floor: number, goal: number): GoalPart {
	return { what: 'x', unit: 'ratio', wanted, floor, goal, measure: () => undefined };
}

function finding(results: BenchResults, figure: string, what: string): GoalFinding {
	const found = judgeGoals(results).find((entry) => entry.figure === figure && entry.part.what === what);
	if (found === undefined) throw new Error(`there is no goal ${figure}: ${what}`);
	return found;
}

/** The two figures that a ratio is made from, and nothing else. */
function pair(other: string, shape: ShapeId, product: Partial<CallFigure>, peer: Partial<CallFigure>): BenchResults {
	return {
		...emptyResults(),
		calls: [
			{ ...sampleCall('spock', shape), ...product },
			{ ...sampleCall(other, shape), ...peer },
		],
	};
}

describe('judgeGoal', () => {
	it.each([
		[1.299, 'goal'],
		[1.3, 'goal'],
		[1.301, 'floor'],
		[1.45, 'floor'],
		[1.451, 'missed'],
		[undefined, 'not measured'],
		[Number.NaN, 'not measured'],
	])('judges %s, wanted at most 1.3 and never above 1.45, as %s', (measured, verdict) => {
		expect(judgeGoal(part('at most', 1.45, 1.3), measured)).toBe(verdict);
	});

	it.each([
		[4.001, 'goal'],
		[4, 'goal'],
		[3.999, 'floor'],
		[2.5, 'floor'],
		[2.499, 'missed'],
	])('judges %s, wanted at least 4 and never below 2.5, as %s', (measured, verdict) => {
		expect(judgeGoal(part('at least', 2.5, 4), measured)).toBe(verdict);
	});
});

describe('goals', () => {
	it('have a goal that is nowhere behind its floor', () => {
		for (const { wanted, floor, goal } of GOAL_ROWS.flatMap((row) => row.parts)) {
			expect(wanted === 'at most' ? goal <= floor : goal >= floor).toBe(true);
		}
	});

	it('are all measured by a complete run, and none by an empty one', () => {
		expect(judgeGoals(sampleResults()).filter((entry) => entry.verdict === 'not measured')).toEqual([]);
		expect(judgeGoals(emptyResults()).every((entry) => entry.verdict === 'not measured')).toBe(true);
	});

	it('are judged by the ratio to the contender that they name', () => {
		const slow = { p50Us: 100, cpuUs: 100, callsPerSecond: 1000 };
		const oneCore = pair('echo', 'one-core', { p50Us: 130, cpuUs: 145 }, slow);
		expect(finding(oneCore, 'one call at a time, one core', 'p50, to echo')).toMatchObject({
			measured: 1.3,
			verdict: 'goal',
		});
		expect(finding(oneCore, 'one call at a time, one core', 'CPU, to echo').verdict).toBe('floor');
		const many = pair('grpc-js-tcp', '1024-in-flight', { callsPerSecond: 149_000 }, slow);
		expect(finding(many, '1024 in flight', 'calls/s, to grpc-js over TCP')).toMatchObject({
			measured: 149,
			verdict: 'missed',
		});
		const cpu = pair('grpc-js-tcp', 'one-core', { cpuUs: 5 }, { cpuUs: 120 });
		expect(finding(cpu, 'CPU of a call, one core', 'to grpc-js over TCP').verdict).toBe('goal');
	});

	it('take the busy node from the busy figures alone', () => {
		const idle = pair('echo', 'two-cores', { p99Us: 100 }, { p99Us: 100 });
		expect(finding(idle, 'the same on a busy node', 'p99, to echo').verdict).toBe('not measured');
		const busy = { ...idle, calls: idle.calls.map((figure) => ({ ...figure, busy: true })) };
		expect(finding(busy, 'the same on a busy node', 'p99, to echo').verdict).toBe('goal');
	});

	it('compare growth with the row it grows from', () => {
		const results = sampleResults();
		expect(
			finding(results, '1,000 connections to one sidecar', 'p99, to 1 connection at the same total rate').measured,
		).toBeCloseTo(680 / 410);
		expect(finding(results, '100,000 in flight', 'calls/s, to 1024 in flight').measured).toBeCloseTo(710 / 1081);
		expect(finding(results, '100,000 in flight', 'memory for each call, to that at 10,000').measured).toBeCloseTo(
			547 / 217 / 10,
		);
		const failing = results.inFlight.map((figure) => ({ ...figure, errors: 1 }));
		expect(finding({ ...results, inFlight: failing }, '100,000 in flight', 'errors').verdict).toBe('missed');
	});

	it('count the bundle in KB of 1024 bytes, and no dependency as none', () => {
		const bundle = { minifiedBytes: 30_000, gzipBytes: 10_240, thirdPartyDependencies: 1 };
		const results = sampleResults({ bundle });
		expect(finding(results, 'client bundle', 'minified and gzipped')).toMatchObject({ measured: 10, verdict: 'goal' });
		expect(finding(results, 'client bundle', 'third-party dependencies').verdict).toBe('missed');
	});
});

describe('the text of a goal', () => {
	it('shows bounds as they were set, and measured fractions like their bounds', () => {
		const fraction = part('at most', 1 / 4, 1 / 4.5);
		expect(formatGoalBound(fraction, fraction.goal)).toBe('<= 1/4.5');
		expect(formatGoalValue(fraction, 0.23)).toBe('1/4.35');
		expect(formatGoalBound(part('at least', 0.85, 1), 0.85)).toBe('>= 0.85x');
		expect(formatGoalBound({ ...fraction, unit: 'ns' }, 40)).toBe('<= 40 ns');
		expect(formatGoalBound({ ...fraction, unit: 'count' }, 0)).toBe('0');
	});
});
