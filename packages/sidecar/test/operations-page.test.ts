import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { metricsTable, prometheusRule } from '../../../tools/metrics-table.js';
import { metricTable } from '../src/admin/metrics/sidecar-metrics.ts';

function readText(path: string): string {
	return readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
}

interface Rules {
	readonly groups: readonly {
		readonly rules: readonly {
			readonly alert: string;
			readonly labels: Readonly<Record<string, string>>;
			readonly annotations: Readonly<Record<string, string>>;
		}[];
	}[];
}

const metricsPage = readText('docs/reference/metrics.md');
const runbook = readText('docs/guide/when-it-goes-wrong.md');
const alerts = readText('k8s/prometheus/alerts.yaml');
const rules = (parse(alerts) as Rules).groups.flatMap((group) => group.rules);

it('the table of docs/reference/metrics.md is that of the code; if not: npm run tables metrics', () => {
	const [, table] = /<!-- metrics -->\n\n([\s\S]*?)\n\n<!-- end -->/.exec(metricsPage) ?? [];
	expect(table).toBe(metricsTable(metricTable));
});

it('the rules for the operator are those for Prometheus; if not: npm run tables metrics', () => {
	const written = readText('k8s/prometheus/prometheus-rule.yaml');
	expect(written).toBe(prometheusRule(alerts));
	expect(parse(written)).toMatchObject({ kind: 'PrometheusRule', spec: parse(alerts) });
});

it('every alert says what it is, how bad, and where to read on; docs/guide/when-it-goes-wrong.md has a paragraph for each, and for no other', () => {
	const headings = [...runbook.matchAll(/^### (Spock\w+)\n\n\S/gm)].map(([, name]) => name);
	expect(headings).toEqual(rules.map(({ alert }) => alert));
	for (const { alert, labels, annotations } of rules) {
		expect(['critical', 'warning']).toContain(labels['severity']);
		expect(annotations).toMatchObject({
			summary: expect.stringMatching(/\S/),
			description: expect.stringContaining('{{ $labels.instance }}'),
			runbook_url: `docs/guide/when-it-goes-wrong.md#${alert.toLowerCase()}`,
		});
	}
});

interface Panel {
	readonly id: number;
	readonly type: string;
	readonly title: string;
	readonly datasource?: { readonly uid: string };
	readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
	readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

describe('the dashboard', () => {
	const text = readText('k8s/grafana/spock.json');
	const dashboard = JSON.parse(text) as {
		readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
		readonly panels: readonly Panel[];
	};
	const { panels } = dashboard;

	it('takes its data from where the reader chooses', () => {
		expect(dashboard.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource' });
		for (const { type, title, datasource, targets = [] } of panels) {
			if (type === 'row') continue;
			expect(targets.length, title).toBeGreaterThan(0);
			for (const { uid } of [datasource ?? { uid: '' }, ...targets.map((target) => target.datasource)]) {
				expect(uid, title).toBe('$' + '{datasource}');
			}
		}
	});

	it('has its rows, and no panel over another', () => {
		const rows = panels.filter(({ type }) => type === 'row').map(({ title }) => title);
		expect(rows).toEqual(['Overview', 'Requests', 'Connections', 'Consul', 'Freshness', 'Process', 'Events']);
		expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
		const taken = new Map<string, string>();
		for (const { title, gridPos } of panels) {
			expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
			for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
				for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
					expect(taken.get(`${x} ${y}`), title).toBeUndefined();
					taken.set(`${x} ${y}`, title);
				}
			}
		}
	});

	it('or an alert shows every metric of the sidecar', () => {
		const unseen = Object.keys(metricTable).filter(
			(name) => name.startsWith('spock_') && !`${text}${alerts}`.includes(name),
		);
		expect(unseen).toEqual([]);
	});
});
