import { describe, expect, it } from 'vitest';

import { brokenPromises, fallenBehind } from './broken-promises.ts';
import { renderRollingMarkdown } from './rolling-md.ts';
import type { RollingResults, ScenarioResult, WayResult } from './rolling-results.ts';

const way: Omit<WayResult, 'way'> = {
	requests: 12_345,
	turnedAway: 0,
	processorUs: 321,
	failures: {},
	examples: [],
	retries: 7,
	p50Ms: 1.25,
	p99Ms: 4.5,
	maxMs: 20,
	shares: [0.51, 0.49],
	instancesSeen: 4,
};
const failures = { ECONNREFUSED: 1200, ECONNRESET: 3 };
const scenario: ScenarioResult = {
	order: 'surge',
	instances: 2,
	restarts: 1,
	preStopMs: 1000,
	workMs: 0,
	pauseMs: 2000,
	rate: 500,
	dnsTtlMs: 5000,
	seconds: 24.7,
	ways: [
		{ ...way, way: 'undici' },
		{ ...way, way: 'dns-http-once', failures },
	],
};
const results: RollingResults = {
	schema: 1,
	takenAt: '2026-01-02T03:04:05.000Z',
	quick: false,
	commit: 'abcdef0',
	machine: { processor: 'a processor', cores: 4 },
	node: 'v24.0.0',
	versions: { undici: '7.0.0' },
	scenarios: [scenario, { ...scenario, preStopMs: 6000 }, { ...scenario, order: 'in-place', preStopMs: 0 }],
};

describe('the page on rolling restarts', () => {
	const page = renderRollingMarkdown(results);

	it('says of each way and scenario what failed, and what was tried again', () => {
		expect(page).toMatch(/\| `@spock\/undici`, undici retries \| HTTP \| +37,035 \| +\*\*0\*\* \(7\) \|/);
		expect(page).toMatch(/\| DNS round robin, no retry +\| HTTP \| +37,035 \| +1,203 \| +1,203 \| +1,203 \|\n/);
	});

	it('says how long and how dear a request was, and how even the shares', () => {
		expect(page).toMatch(/\| DNS round robin, no retry +\| +1\.25 \| +4\.50 \| +49\.0 to 51\.0 \| +321 \|\n/);
	});

	it('names the scenarios by what is different in them', () => {
		const titles = ['preStop 1 s', 'preStop 6 s, over the time to live', 'same port, no preStop'];
		expect(page).toMatch(new RegExp(`\\| ${titles.join(' \\| ')} \\|\n`));
	});
});

describe('a client that could not keep the pace', () => {
	it.each<[string, Partial<WayResult>]>([
		['left requests out', { turnedAway: 9 }],
		['was always late', { p50Ms: 60 }],
	])('is told of: it %s', (_what, late) => {
		expect(fallenBehind(scenario)).toEqual([]);
		expect(fallenBehind({ ...scenario, ways: [{ ...way, way: 'http', ...late }] })).toEqual([
			expect.stringContaining('too busy for 500 requests a second by http'),
		]);
		expect(fallenBehind({ ...scenario, workMs: 20, ways: [{ ...way, way: 'http', p50Ms: 60 }] })).toEqual([]);
	});
});

describe('the promise', () => {
	it('is not broken by what others fail', () => {
		expect(brokenPromises([scenario])).toEqual([]);
	});

	it('is broken by one request of ours, and examples are told', () => {
		const broken: WayResult = { ...way, way: 'grpc', failures: { 'gRPC 14': 1 }, examples: ['14 UNAVAILABLE'] };
		expect(brokenPromises([{ ...scenario, ways: [broken] }])).toEqual([
			'1 of 12345 requests of grpc failed (surge, preStop 1000 ms): {"gRPC 14":1}\n  14 UNAVAILABLE',
		]);
	});
});
