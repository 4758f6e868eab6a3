// Writes the table of docs/reference/metrics.md, and the alerts of k8s/prometheus for its operator. With --check it changes nothing, and
// fails where one of them differs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { updateDocs, updateFile } from './docs-section.js';
import { loadSource } from './load-source.js';
import { metricsTable, prometheusRule } from './metrics-table.js';
import { root } from './prepare.js';

const COMMAND = 'npm run tables metrics';

const { metricTable } = await loadSource(
	`export { metricTable } from './packages/sidecar/src/admin/metrics/sidecar-metrics.ts';`,
);
updateDocs('metrics', metricsTable(metricTable), 'docs/reference/metrics.md', COMMAND);
const alerts = readFileSync(join(root, 'k8s/prometheus/alerts.yaml'), 'utf8');
updateFile('k8s/prometheus/prometheus-rule.yaml', prometheusRule(alerts), COMMAND);
