import { readFileSync } from 'node:fs';

import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';

import { metricTable } from '../src/admin/metrics/sidecar-metrics.ts';
import { type Scrape, scrapeUnderLoad } from './scraped-sidecar.ts';

const rules = parse(readText('k8s/prometheus/alerts.yaml')) as {
	readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
};
const dashboard = JSON.parse(readText('k8s/grafana/spock.json')) as {
	readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
};

function readText(path: string): string {
	return readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
}

const expressions = [
	...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)),
	...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** The names of metrics in an expression of PromQL, with the labels that are asked of each. */
function metricsIn(expression: string): { readonly name: string; readonly labels: readonly string[] }[] {
	const found = expression.matchAll(/\b((?:spock|process|nodejs)_\w+)(?:\{([^}]*)\})?/g);
	return [...found].map(([, name = '', matchers = '']) => ({
		name,
		labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label as string),
	}));
}

describe('a scrape of a real sidecar', () => {
	let scrape: Scrape;
	beforeAll(async () => {
		scrape = await scrapeUnderLoad();
	});

	it('has every metric of the table, with series, its type and its labels; and no other', () => {
		const documented = Object.entries(metricTable).map(([name, { type, labels = {} }]) => [
			name,
			{ type, labels: new Set(Object.keys(labels)), hasSeries: true },
		]);
		const scraped = [...scrape.metrics].map(([name, { type, labels, series }]) => [
			name,
			{ type, labels, hasSeries: series > 0 },
		]);
		expect(Object.fromEntries(scraped)).toEqual(Object.fromEntries(documented));
	});

	it('has the metrics and labels of every alert and of every panel', () => {
		// What Prometheus adds to each series itself.
		const added = ['job', 'instance'];
		for (const [where, expression] of expressions) {
			for (const { name, labels } of metricsIn(expression)) {
				const metric = scrape.metrics.get(name) ?? scrape.metrics.get(name.replace(/_(bucket|sum|count)$/, ''));
				expect(metric, `${name} of ${where}`).toBeDefined();
				for (const label of labels) expect([...(metric?.labels ?? []), ...added], `${where}: ${name}`).toContain(label);
			}
		}
	});

	it('is bounded: what it names is a few hundred series', () => {
		const series = [...scrape.metrics.values()].reduce((sum, metric) => sum + metric.series, 0);
		expect(series).toBeLessThan(500);
	});

	it('counts what was done', () => {
		expect(scrape.text).toMatch(/^spock_requests_total\{func="getService",code="ok"\} \d{5}$/m);
		expect(scrape.text).toContain('spock_requests_total{func="other",code="UNKNOWN_FUNC"} 1');
		expect(scrape.text).toContain('spock_snapshot_age_seconds{service="barista"} 0');
		expect(scrape.text).toMatch(/^spock_backend_queries_total\{outcome="ok"\} [1-9]/m);
	});
});

it('every label of a panel or alert is one that the metric may have, and every value of a closed one is known', () => {
	const values = /(\w+)\s*=~?\s*"([\w|. -]+)"/g;
	for (const [where, expression] of expressions) {
		for (const [, name = '', matchers = ''] of expression.matchAll(/\b(spock_\w+)\{([^}]*)\}/g)) {
			const labels = metricTable[name.replace(/_(bucket|sum|count)$/, '')]?.labels ?? metricTable[name]?.labels ?? {};
			for (const [, label = '', wanted = ''] of matchers.matchAll(values)) {
				const facts = labels[label];
				if (typeof facts !== 'object') continue;
				for (const value of wanted.split('|')) expect(Object.keys(facts), `${where}: ${name}`).toContain(value);
			}
		}
	}
});
