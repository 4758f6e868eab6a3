import type { DiscoveryEvent } from '@spock/discovery';
import { type Clock, systemClock } from '@spock/protocol/internal';
import { Registry } from 'prom-client';

import { observeAll, type SidecarObserver } from '../../foundation/observer.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';
import { discoveryMetrics } from './discovery-metrics.ts';
import { eventsMetrics } from './events-metrics.ts';
import { loadMetrics } from './load-metrics.ts';
import type { Metric, MetricEvents, MetricsSource, MetricsState } from './metric.ts';
import { EventLoopMetrics, eventLoopMetrics, processMetrics, registerProcessMetrics } from './process-metrics.ts';
import { type Durations, RequestMetrics, requestMetrics } from './request-metrics.ts';
import { oncePerTurn, readSeries, registerSeries, Tally } from './tallied.ts';
import { upstreamMetrics } from './upstream-metrics.ts';

/** Every metric of a scrape, by name; docs/reference/metrics.md has it as a table. */
export const metricTable: Readonly<Record<string, Metric>> = {
	...requestMetrics,
	...loadMetrics,
	...eventLoopMetrics,
	...discoveryMetrics,
	...upstreamMetrics,
	...eventsMetrics,
	...processMetrics,
};

/**
 * The metrics of one sidecar, in a registry of their own. Labels are bounded: functions and error codes come from closed
 * tables, a function that does not exist is `other`, and services are named up to a limit.
 */
export class SidecarMetrics {
	readonly registry: Registry = new Registry();
	/** Counts what a sidecar reports: an observer for `createSidecar`. */
	readonly observer: SidecarObserver;
	readonly #requests = new RequestMetrics(this.registry);
	readonly #eventLoop: EventLoopMetrics;
	readonly #events: MetricEvents;
	/** The metrics that are read from the sidecar at each scrape, once there is one. */
	readonly #read: (readonly [name: string, metric: Metric, tally: Tally | undefined])[] = [];
	#phase = 'starting';

	/** Counts from now on. `clock` is for the delay of the event loop; default: that of the process. */
	constructor(clock: Clock = systemClock) {
		registerProcessMetrics(this.registry);
		this.#eventLoop = new EventLoopMetrics(this.registry, clock);
		const requests = this.#requests;
		const events: MetricEvents[] = [
			{
				answered: (func, code, durationMs, count) => requests.add(func, code, durationMs, count),
				grpcAnswered: (method, code) => requests.addGrpc(method, code),
				phase: (phase) => {
					this.#phase = phase;
				},
			},
		];
		for (const [name, metric] of Object.entries({ ...loadMetrics, ...discoveryMetrics, ...upstreamMetrics })) {
			const tally = metric.on && new Tally(metric);
			if (tally) events.push(metric.on(tally.count));
			if (metric.read) this.#read.push([name, metric, tally]);
			else if (tally) registerSeries(this.registry, name, metric, () => tally.series());
		}
		this.#events = observeAll(events);
		this.observer = this.#events;
	}

	/** Adds what is read at each scrape, and measures the event loop from now on until `close`. */
	observe(source: MetricsSource): void {
		const state: MetricsState = {
			...source,
			phase: () => this.#phase,
			// Sums over every connection and every query, which several metrics read.
			gauges: oncePerTurn(() => source.gauges()),
			watches: oncePerTurn(() => source.watches()),
			keyWatches: oncePerTurn(() => source.keyWatches()),
			backend: oncePerTurn(() => source.backend()),
		};
		for (const [name, metric, tally] of this.#read) {
			registerSeries(this.registry, name, metric, () => {
				const read = metric.read?.(state) ?? {};
				return tally === undefined || typeof read === 'number' ? readSeries(metric, read) : tally.series(read);
			});
		}
		this.#eventLoop.start();
	}

	/** Ends its timer. What it has counted stays. */
	close(): void {
		this.#eventLoop.close();
	}

	/** Requests by how long they took. */
	durations(): Durations {
		return this.#requests.durations();
	}

	/** Counts a step of a take-over. */
	tookOver(event: TakeOverEvent): void {
		this.#events.tookOver?.(event);
	}

	/** Counts what happens in discovery. */
	discovered(event: DiscoveryEvent): void {
		// The table is typed by the event; which member of it this is, the compiler cannot follow.
		const count: ((event: never) => void) | undefined = this.#events[event.type];
		count?.(event as never);
	}
}
