/** The table of metrics in Markdown. */
export function metricsTable(metrics: Readonly<Record<string, object>>): string;
/** The rules for the Prometheus operator, from the text of the plain ones. */
export function prometheusRule(alerts: string): string;
