import { describe, expect, it } from 'vitest';

import { judgeScale } from './scale-goals.ts';
import { renderScaleMarkdown } from './scale-md.ts';
import type { RowName, ScaleFigures, ScaleResults, TakenRow } from './scale-results.ts';
import { renderWaysTable } from './ways-table.ts';

const delays = (p50Ms: number, p99Ms: number, unseen = 0) => ({ changes: 500, unseen, p50Ms, p99Ms, maxMs: 90 });
const load = { seconds: 60, changes: 300, cpuPercent: 40, megabytesASecond: 1, isSeen: true, closed: 0, rssMb: 90 };
const restart = { awayMs: 300, backMs: 1500, cpuMs: 400, calls: 100, callP50Ms: 1, callP99Ms: 20, failedLookups: 0 };
const consulLoad = { held: 100, failed: 0, connections: 120, queriesAMinute: 200, seconds: 90 };
const times = { p50Ms: 0.2, p99Ms: 0.9 };
const process = { rssMb: 80, pssMb: 45 };

const figures: ScaleFigures = {
	'held-queries': {
		...{ sidecars: 1000, ownProcesses: 40, nodes: 10, services: 10 },
		...{ through: consulLoad, without: { ...consulLoad, held: 10_000, queriesAMinute: 20_000 } },
	},
	'many-services': { watched: 1000, gapMs: 100, spock: delays(60, 600), bare: delays(10, 50) },
	'second-hop': {
		...{ changes: 2000, unseen: 0, oneP50Ms: 3, oneP99Ms: 8, twoP50Ms: 3.5, twoP99Ms: 10 },
		...{ addedP50Ms: 0.5, addedP99Ms: 1.5 },
	},
	'push-bytes': { instances: 1500, changes: 50, wholeBytes: 200_000, changeBytes: 199_000, features: ['push'] },
	'push-cpu': {
		instances: 1500,
		watchers: 1000,
		changesASecond: 5,
		consul: load,
		memory: load,
		tls: { ...load, cpuPercent: 99 },
	},
	'large-service': {
		...{ instances: 10_000, served: 0, isLive: false, isOversize: false, error: 'too long; more', firstMs: 5 },
		...{ clientHeapMb: 0.1, clientRssMb: 1 },
	},
	'pod-memory': {
		...{ services: 10, instancesEach: 10, pods: 1000 },
		...{ socket: { rssKb: 35, heapKb: 30 }, tls: { rssKb: 120, heapKb: 60 } },
	},
	simulation: {
		...{ nodes: 200, pods: 10_000, hasSidecars: true, views: 10_000, agree50Ms: 5, agree99Ms: 9, agreeAllMs: 12 },
		...{ killed: 20, lookups: 4_000_000, failedLookups: 0, killed99Ms: 1800, killedAllMs: Number.POSITIVE_INFINITY },
		...{ events: 10, wallSeconds: 100, memoryMb: 2000 },
	},
	picks: { instances: 100, rounds: 41, plainNs: 20, local: 1.1, spilled: 1.9, subset: 2.5, both: 2 },
	reconnects: { connections: 1000, services: 10, restarts: [restart, { ...restart, callP99Ms: 60 }] },
	ways: {
		...{ services: 10, instancesEach: 10, ownSidecar: process, nodeSpock: process, sidecarBehindNode: process },
		...{ appHeapMb: 1, directAppHeapMb: 2.5, alone: times, beside: { p50Ms: 4, p99Ms: 9 }, apart: times },
	},
};

function resultsOf(names: readonly RowName[], changed: Partial<ScaleFigures> = {}): ScaleResults {
	const taken = (figure: unknown): TakenRow<unknown> => ({
		...{ takenAt: '2026-01-02T03:04:05.000Z', commit: 'abcdef0', node: 'v24.0.0', quick: false },
		...{ seconds: 12, othersShare: 0.256, figure },
	});
	return {
		...{ schema: 1, takenAt: '2026-01-02T03:04:05.000Z', quick: false, commit: 'abcdef0', node: 'v24.0.0' },
		machine: { processor: 'a processor', cores: 2 },
		consul: '1.20.2',
		rows: Object.fromEntries(names.map((name) => [name, taken({ ...figures, ...changed }[name])])),
	};
}

const all = resultsOf(Object.keys(figures) as RowName[]);

describe('the page on scale', () => {
	const page = renderScaleMarkdown(all);
	const line = (part: string): string => page.split('\n').find((one) => one.includes(part)) ?? '';

	it('has floor, goal, figure and verdict of each row, and how much of the machine others used', () => {
		expect(line('p50, added to one Spock')).toMatch(/\| +0\.500 ms \| +<= 1 ms \| +<= 0\.4 ms \| floor +\| +26 % \|$/);
		expect(line('requests a minute at rest, to')).toMatch(/\| +1\/100 \| +<= 1\/50 \| +<= 1\/50 \| goal/);
		expect(line('held at Consul')).toMatch(/\| +100 \| +<= 110 \| +<= 110 \| goal/);
		expect(line('in a service of 1,500 instances')).toMatch(
			/\| +199,000 B \| +<= 2048 B \| +<= 600 B \| \*\*missed\*\*/,
		);
	});

	it('the worst restart counts, and a service that is not served is 0 instances of it', () => {
		expect(line('p99 of a call over the wire')).toMatch(/\| +60\.0 ms \| .*missed/);
		expect(line('served, live')).toMatch(/\| +0 \| +>= 10,000 \| +>= 10,000 \| \*\*missed\*\*/);
		expect(line('memory of a client')).toContain('not measured');
	});

	it('says of a missed floor what its figures show of the reason, and of each row when it was taken', () => {
		expect(line('- `push-bytes`')).toMatch(/each change is sent as the whole service/);
		expect(line('- `many-services`')).toContain('other work used 26 %');
		expect(line('- `large-service`')).toContain('too long; more');
		expect(page).not.toContain('- `second-hop`');
		expect(page.match(/commit `abcdef0`/g)).toHaveLength(Object.keys(figures).length);
		expect(page).not.toMatch(/NaN|undefined|Infinity/);
	});

	it('a change that was never seen misses, and a row that was not measured is neither', () => {
		const unseen = { ...figures['many-services'], spock: delays(1, 1, 1) };
		const results = resultsOf(['many-services'], { 'many-services': unseen });
		expect(renderScaleMarkdown(results)).toMatch(/\| +never \| +<= 20 ms/);
		const verdicts = judgeScale(results).map(({ goal, verdict }) => `${goal.row} ${verdict}`);
		expect(verdicts).toContain('many-services missed');
		expect(verdicts).toContain('picks not measured');
	});
});

describe('the table of the ways to run it', () => {
	it('says what a pod takes and asks, each way', () => {
		const table = renderWaysTable(all);
		expect(table).toMatch(
			/\| 80\.0 MB \(PSS 45\.0\) +\| 35\.0 KB \(TLS: 120 KB\) +\| 80\.0 MB \(PSS 45\.0\), and 35\.0 KB/,
		);
		expect(table).toMatch(/\| 10\.0, 20\.0 +\| 0\.100, 0\.200 +\| 0\.100, 0\.200 +\| 10\.0, 20\.0 +\|/);
		expect(table).toMatch(/\| 0\.900 ms +\| 9\.00 ms +\| 0\.900 ms +\| – /);
		expect(table).not.toContain('undefined');
	});

	it('says what was not measured', () => {
		expect(renderWaysTable(resultsOf(['ways']))).toContain('not measured');
	});
});
