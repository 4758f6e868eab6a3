// Writes the table of docs/reference/metrics.md, and the alerts of k8s/prometheus for its operator; a test says when it is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

import { replaceInDocs } from './docs-section.js';
import { metricsTable, prometheusRule } from './metrics-table.js';
import { root, say } from './prepare.js';

const bundled = await build({
	entryPoints: [join(root, 'packages/sidecar/src/admin/metrics/metric-table.ts')],
	bundle: true,
	write: false,
	format: 'esm',
	platform: 'node',
	conditions: ['@spock/source'],
});
const text = Buffer.from(bundled.outputFiles[0].contents).toString('base64');
const { metricTable } = await import(`data:text/javascript;base64,${text}`);
replaceInDocs('metrics', metricsTable(metricTable), 'docs/reference/metrics.md');

const rule = join(root, 'k8s/prometheus/prometheus-rule.yaml');
writeFileSync(rule, prometheusRule(readFileSync(join(root, 'k8s/prometheus/alerts.yaml'), 'utf8')));
say(`wrote ${rule}`);
