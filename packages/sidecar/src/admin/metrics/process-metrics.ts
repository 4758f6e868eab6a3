import type { Clock, TimerHandle } from '@spock/protocol/internal';
import { collectDefaultMetrics, Registry } from 'prom-client';

import { processMetrics } from './metric-table.ts';

import { DurationTally, registerHistogram } from './plain-figures.ts';

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

/** How late the event loop is. */
export class EventLoopMetrics {
	readonly #clock: Clock;
	readonly #tally = new DurationTally(DELAY_BUCKETS_SECONDS);
	#timer: TimerHandle | undefined;

	/** Registers the metric; nothing is measured before `start`. */
	constructor(registry: Registry, clock: Clock) {
		this.#clock = clock;
		registerHistogram(registry, 'spock_event_loop_delay_seconds', DELAY_BUCKETS_SECONDS, () => [
			{ labels: {}, tally: this.#tally },
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
