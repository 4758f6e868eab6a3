import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { spawnProcess } from '@spock/testkit';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';

import { metricTable } from '../src/admin/metrics/sidecar-metrics.ts';

const page = readFileSync(new URL('../../../docs/guide/running.md', import.meta.url), 'utf8');
const [, block = ''] = /^### Watch these five.*?^```text\n(.*?)^```/ms.exec(page) ?? [];
const expressions = block.split('\n').filter((line) => line !== '' && !line.startsWith('#'));

it('the guide names five metrics to watch, and each is there', () => {
	expect(expressions).toHaveLength(5);
	const known = new Set(Object.keys(metricTable));
	const events = [...(/`sum\((spock_\w+)\)`/.exec(page.slice(page.indexOf('### Watch these five'))) ?? [])].slice(1);
	const named = [...block.matchAll(/spock_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''));
	expect([...named, ...events].filter((name) => !known.has(name))).toEqual([]);
	expect(events).toHaveLength(1);
});

/** Series of two sidecars in one shape; a value grows by so much each minute. */
function series(bad: Readonly<Record<string, string>>): { series: string; values: string }[] {
	const good: Record<string, string> = {
		'spock_ready{instance="a"}': '1x30',
		'spock_ready{instance="b"}': '1x30',
		'spock_snapshot_oldest_age_seconds{instance="a"}': '0x30',
		'spock_snapshot_oldest_age_seconds{instance="b"}': '0x30',
		'spock_requests_total{instance="a",func="getService",code="ok"}': '0+540x30',
		'spock_requests_total{instance="a",func="getService",code="NO_SUCH_SERVICE"}': '0+60x30',
		'spock_request_duration_seconds_bucket{instance="a",func="getService",le="0.001"}': '0+600x30',
		'spock_request_duration_seconds_bucket{instance="a",func="getService",le="1"}': '0+600x30',
		'spock_request_duration_seconds_bucket{instance="a",func="getService",le="+Inf"}': '0+600x30',
		'spock_registrations_pending{instance="a"}': '0x30',
	};
	return Object.entries({ ...good, ...bad }).map(([name, values]) => ({ series: name, values }));
}

it.each([
	['a good day', {}, [0, 0, 0, 0.00099, 0]],
	[
		'a bad day',
		{
			'spock_ready{instance="b"}': '0x30',
			'spock_snapshot_oldest_age_seconds{instance="b"}': '300x30',
			'spock_requests_total{instance="b",func="getService",code="UNAVAILABLE"}': '0+600x30',
			'spock_request_duration_seconds_bucket{instance="a",func="getService",le="0.001"}': '0+0x30',
			'spock_registrations_pending{instance="b"}': '3x30',
		},
		[1, 300, 0.5, 0.99001, 3],
	],
])('on %s they are what the guide promises', async (_day, bad, values) => {
	const place = mkdtempSync(join(tmpdir(), 'spock-five-'));
	try {
		const tests = expressions.map((expr, index) => ({
			interval: '1m',
			input_series: series(bad),
			promql_expr_test: [{ expr, eval_time: '20m', exp_samples: [{ labels: '{}', value: values[index] }] }],
		}));
		writeFileSync(join(place, 'test.yaml'), stringify({ rule_files: [], evaluation_interval: '1m', tests }));
		await using process = spawnProcess('promtool', ['test', 'rules', join(place, 'test.yaml')]);
		const { exitCode, stdout, stderr } = await process.finished;
		expect(exitCode, stdout + stderr).toBe(0);
	} finally {
		rmSync(place, { recursive: true });
	}
});
