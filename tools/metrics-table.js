// The table of docs/reference/metrics.md, from the code, and the alerts for the Prometheus operator, from the plain ones.

/** The table of metrics in Markdown, of a `metricTable` of packages/sidecar/src/admin/metrics/sidecar-metrics.ts. */
export function metricsTable(metrics) {
	const rows = Object.entries(metrics).map(([name, { type, help, labels = {} }]) => {
		const cells = [`\`${name}\``, type, Object.keys(labels).map(code).join(', '), meaning(help, labels)];
		return `| ${cells.join(' | ')} |`;
	});
	return ['| metric | type | labels | |', '|---|---|---|---|', ...rows].join('\n');
}

function meaning(help, labels) {
	const sentences = Object.entries(labels).flatMap(([label, facts]) => {
		if (facts === '') return [];
		return typeof facts === 'string' ? [`${code(label)}: ${facts}`] : [`${code(label)}: ${valuesOf(facts)}`];
	});
	return [help, ...sentences].join('. ');
}

function valuesOf(facts) {
	return Object.entries(facts)
		.map(([value, words]) => (words === '' ? code(value) : `${code(value)} (${words})`))
		.join(', ');
}

function code(text) {
	return `\`${text}\``;
}

/** The rules for the Prometheus operator, from the text of the plain ones. */
export function prometheusRule(alerts) {
	const groups = alerts.slice(alerts.indexOf('groups:'));
	const indented = groups.replace(/^(?=.)/gm, '  ');
	return `# Written by \`npm run tables metrics\` from alerts.yaml.
# https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusRule
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: spock
  labels:
    app.kubernetes.io/name: spock
spec:
${indented}`;
}
