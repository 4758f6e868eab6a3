import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';
import { parse } from 'yaml';

import { metricsTable, prometheusRule } from '../../../tools/metrics-table.js';
import { metricTable } from '../src/admin/metric-table.ts';

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

const page = readText('docs/OPERATIONS.md');
const alerts = readText('k8s/prometheus/alerts.yaml');
const rules = (parse(alerts) as Rules).groups.flatMap((group) => group.rules);

it('the table of metrics in docs/OPERATIONS.md is that of the code; if not: npm run operations-tables', () => {
	const [, table] = /<!-- metrics -->\n\n([\s\S]*?)\n\n<!-- end -->/.exec(page) ?? [];
	expect(table).toBe(metricsTable(metricTable));
});

it('the rules for the operator are those for Prometheus; if not: npm run operations-tables', () => {
	const written = readText('k8s/prometheus/prometheus-rule.yaml');
	expect(written).toBe(prometheusRule(alerts));
	expect(parse(written)).toMatchObject({ kind: 'PrometheusRule', spec: parse(alerts) });
});

it('every alert says what it is, how bad, and where to read on; the page has a paragraph for each, and for no other', () => {
	const headings = [...page.matchAll(/^### (Spock\w+)\n\n\S/gm)].map(([, name]) => name);
	expect(headings).toEqual(rules.map(({ alert }) => alert));
	for (const { alert, labels, annotations } of rules) {
		expect(['critical', 'warning']).toContain(labels['severity']);
		expect(annotations).toMatchObject({
			summary: expect.stringMatching(/\S/),
			description: expect.stringContaining('{{ $labels.instance }}'),
			runbook_url: `docs/OPERATIONS.md#${alert.toLowerCase()}`,
		});
	}
});
