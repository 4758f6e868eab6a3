import { parseXml } from '@rgrove/parse-xml';
import { expect, it } from 'vitest';

import type { GrpcLoadResults, WayName } from './grpc-load-results.ts';
import { drawGrpcLoad, renderGrpcLoadTable } from './render-grpc-load.ts';

const way = (name: WayName, shares: number[], evenAfterMs: number | null): GrpcLoadResults['ways'][number] => ({
	way: name,
	requests: 5000,
	failed: 0,
	requestsPerSecond: 812.34,
	shares,
	latencyMs: { p10: 20.123, p50: 100, p99: 1234.5 },
	change: { requests: 5100, failed: 3, evenAfterMs },
});
const results: GrpcLoadResults = {
	takenAt: '2026-01-02T03:04:05.000Z',
	machine: { processor: 'A & B', cores: 4 },
	node: '20.19.0',
	settings: { requests: 5000, inFlight: 100, workMs: 5, noticeMs: 200, employees: 2 },
	ways: [way('single', [1, 0], null), way('resolver', [0.5, 0.5], 81.23)],
};

it('the table has the shares, the latency, and what a change did', () => {
	const rows = renderGrpcLoadTable(results)
		.split('\n')
		.map((line) => line.replaceAll(/\s+/g, ' '));
	expect(rows).toContain('| a single channel | 0 to 100 | 812 | 100 | 1,230 | 0 | 3 | never |');
	expect(rows).toContain('| the resolver | 50.0 | 812 | 100 | 1,230 | 0 | 3 | 81.2 |');
});

it('the plots are well-formed and name every way', () => {
	const plots = drawGrpcLoad(results);
	expect(Object.keys(plots)).toEqual(['grpc-shares.svg', 'grpc-latency.svg']);
	for (const svg of Object.values(plots)) {
		parseXml(svg);
		expect(svg).toContain('a single channel');
		expect(svg).toContain('the resolver');
		expect(svg).toContain('A &amp; B');
	}
});
