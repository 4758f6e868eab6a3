import { discoveryMetrics } from './discovery-metrics.ts';
import { loadMetrics } from './load-metrics.ts';
import type { MetricFacts } from './metric-facts.ts';

const SPACE = { space: "V8's name of it" };

/** What is told of the process and of Node, by prom-client. */
export const processMetrics: Readonly<Record<string, MetricFacts>> = {
	process_cpu_seconds_total: { type: 'counter', help: 'CPU time, of all threads' },
	process_cpu_user_seconds_total: { type: 'counter', help: 'Of that, in user mode' },
	process_cpu_system_seconds_total: { type: 'counter', help: 'Of that, in the kernel' },
	process_start_time_seconds: { type: 'gauge', help: 'When the process started, in seconds since 1970' },
	process_resident_memory_bytes: { type: 'gauge', help: 'Memory that the kernel counts, as a limit of the pod does' },
	process_virtual_memory_bytes: { type: 'gauge', help: 'Address space; large for any Node, and no matter' },
	process_heap_bytes: { type: 'gauge', help: 'Data segment of the process' },
	process_open_fds: { type: 'gauge', help: 'Open files, of which each connection is one' },
	process_max_fds: { type: 'gauge', help: 'Files that may be open' },
	nodejs_heap_size_total_bytes: { type: 'gauge', help: "V8's heap" },
	nodejs_heap_size_used_bytes: { type: 'gauge', help: 'Of that, in use' },
	nodejs_external_memory_bytes: { type: 'gauge', help: 'Buffers outside of the heap' },
	nodejs_heap_space_size_total_bytes: { type: 'gauge', help: "Each space of V8's heap", labels: SPACE },
	nodejs_heap_space_size_used_bytes: { type: 'gauge', help: 'Of that, in use', labels: SPACE },
	nodejs_heap_space_size_available_bytes: { type: 'gauge', help: 'Of that, free', labels: SPACE },
	nodejs_gc_duration_seconds: {
		type: 'histogram',
		help: 'Collections of garbage',
		labels: { kind: 'major, minor, incremental or weakcb; each is there from its first one on' },
	},
	nodejs_version_info: {
		type: 'gauge',
		help: '1, with the version of Node',
		labels: { version: 'v20.19.0, say', major: '', minor: '', patch: '' },
	},
};

/** Every metric of the sidecar itself, by name. */
const sidecarMetrics: Readonly<Record<string, MetricFacts>> = { ...loadMetrics, ...discoveryMetrics };

/** Every metric of a scrape, by name; docs/reference/metrics.md has it as a table. */
export const metricTable: Readonly<Record<string, MetricFacts>> = { ...sidecarMetrics, ...processMetrics };

/** What the table says of a metric of the sidecar. Throws an Error for one that is not in it: then nobody could look it up. */
export function factsOf(name: string): MetricFacts {
	const facts = sidecarMetrics[name];
	if (facts === undefined) throw new Error(`the metric ${name} is not in the table of metrics`);
	return facts;
}
