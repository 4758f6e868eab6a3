import { discoveryMetrics } from './discovery-metrics.ts';
import { loadMetrics } from './load-metrics.ts';
import type { MetricFacts } from './metric-facts.ts';
import { processMetrics } from './process-metric-facts.ts';

/** Every metric of the sidecar itself, by name. */
const sidecarMetrics: Readonly<Record<string, MetricFacts>> = { ...loadMetrics, ...discoveryMetrics };

/** Every metric of a scrape, by name; docs/OPERATIONS.md has it as a table. */
export const metricTable: Readonly<Record<string, MetricFacts>> = { ...sidecarMetrics, ...processMetrics };

/** What the table says of a metric of the sidecar. Throws an Error for one that is not in it: then nobody could look it up. */
export function factsOf(name: string): MetricFacts {
	const facts = sidecarMetrics[name];
	if (facts === undefined) throw new Error(`the metric ${name} is not in the table of metrics`);
	return facts;
}
