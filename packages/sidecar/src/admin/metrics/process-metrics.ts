import type { Clock, TimerHandle } from '@spock/protocol/internal';
import { collectDefaultMetrics, Registry } from 'prom-client';

import type { Metric } from './metric.ts';
import { DurationTally, TalliedHistogram } from './tallied.ts';

const SPACE = { space: "V8's name of it" };

/** The metrics of the process and of Node, by prom-client. */
export const processMetrics: Readonly<Record<string, Metric>> = {
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

/** Five times a second: 0.07 % of a core, and 1500 samples in five minutes. */
const SAMPLE_MS = 200;

/** From what the timers of Node are exact to, to where clients notice. */
const DELAY_BUCKETS_SECONDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

const EVENT_LOOP_DELAY: Metric = {
	type: 'histogram',
	help: 'Delay of a timer due five times a second: how long a request waits before it is read',
};

/** What is measured of the event loop. */
export const eventLoopMetrics: Readonly<Record<string, Metric>> = { spock_event_loop_delay_seconds: EVENT_LOOP_DELAY };

/** How late the event loop is. */
export class EventLoopMetrics {
	readonly #clock: Clock;
	readonly #tally = new DurationTally(DELAY_BUCKETS_SECONDS);
	#timer: TimerHandle | undefined;

	/** Registers the metric; nothing is measured before `start`. */
	constructor(registry: Registry, clock: Clock) {
		this.#clock = clock;
		new TalliedHistogram(registry, 'spock_event_loop_delay_seconds', EVENT_LOOP_DELAY, DELAY_BUCKETS_SECONDS, () => [
			[{}, this.#tally],
		]);
	}

	/** Measures until `close`; does not hold the process. */
	start(): void {
		const dueMs = this.#clock.now() + SAMPLE_MS;
		this.#clock.clearTimeout(this.#timer);
		this.#timer = this.#clock.setTimeout(() => {
			this.#tally.add(Math.max(0, this.#clock.now() - dueMs) / 1000, 1);
			this.start();
		}, SAMPLE_MS);
		this.#timer.unref?.();
	}

	close(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}
