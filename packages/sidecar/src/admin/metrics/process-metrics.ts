import { collectDefaultMetrics, Registry } from 'prom-client';

import { processMetrics } from './metric-table.ts';

/** The longest delay of a timer in Node: it never comes. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * Registers what prom-client tells of a process, as far as it is worth its price. Its gauges of handles and resources make a
 * list of every open socket at each scrape, and end in `_total`, which is for counters. Its event-loop lag wakes the process a
 * hundred times a second, 0.4 % of a core in every pod, and says 10 ms where there is none: `spock_event_loop_delay_seconds`
 * stands in for it.
 */
export function registerProcessMetrics(registry: Registry): void {
	const all = new Registry();
	collectDefaultMetrics({ register: all, eventLoopMonitoringPrecision: NEVER_MS });
	// In their order: one of several reads for all of them.
	for (const { name } of all.getMetricsAsArray()) {
		const metric = Object.hasOwn(processMetrics, name) ? all.getSingleMetric(name) : undefined;
		if (metric !== undefined) registry.registerMetric(metric);
	}
}
