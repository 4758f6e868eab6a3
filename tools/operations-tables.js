// Writes the table of docs/reference/metrics.md, and the alerts of k8s/prometheus for its operator. With --check it changes nothing; a test
// compares them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

import { replaceInDocs } from './docs-section.js';
import { metricsTable, prometheusRule } from './metrics-table.js';
import { root, say } from './prepare.js';

const bundled = await build({
	entryPoints: [join(root, 'packages/sidecar/src/admin/metrics/sidecar-metrics.ts')],
	bundle: true,
	write: false,
	format: 'esm',
	platform: 'node',
	conditions: ['@spock/source'],
	// Dependencies that are no modules ask for Node's own by `require`.
	banner: {
		js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(root)});`,
	},
});
const text = Buffer.from(bundled.outputFiles[0].contents).toString('base64');
const { metricTable } = await import(`data:text/javascript;base64,${text}`);
if (!process.argv.includes('--check')) {
	replaceInDocs('metrics', metricsTable(metricTable), 'docs/reference/metrics.md');

	const rule = join(root, 'k8s/prometheus/prometheus-rule.yaml');
	writeFileSync(rule, prometheusRule(readFileSync(join(root, 'k8s/prometheus/alerts.yaml'), 'utf8')));
	say(`wrote ${rule}`);
}
