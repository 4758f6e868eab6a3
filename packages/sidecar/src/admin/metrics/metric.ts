import type { DiscoveryEvent } from '@spock/discovery';
import type { BackendStatus, KeyWatchStatus, WatchStatus } from '@spock/protocol';

import type { ResolvedLimits } from '../../foundation/limits.ts';
import type { SidecarObserver } from '../../foundation/observer.ts';
import type { SidecarGauges } from '../../lifecycle/sidecar-status.ts';
import type { TakeOverEvent } from '../../take-over/take-over.ts';

/** One metric, described once: for the scrape, and for the table of docs/reference/metrics.md. */
export interface Metric {
	readonly type: 'counter' | 'gauge' | 'histogram';
	/** What it counts, and what to make of it. */
	readonly help: string;
	/** By the label's name. */
	readonly labels?: Readonly<Record<string, LabelFacts>>;
	/** Its value at each scrape. Of a counter with `on`: what is added to its counts, by the values of its closed label. */
	readonly read?: (state: MetricsState) => Reading;
	/** The events that it counts, for a counter with at most one label. */
	readonly on?: (count: Count) => MetricEvents;
}

/** What a scrape reads: a number, or one for each value of the metric's only label. */
export type Reading = number | Readonly<Record<string, number>>;

/**
 * What a label says. Of a closed one, every value with its meaning, empty where the name says it all: these are there from the
 * first scrape on, with 0, because Prometheus cannot tell the increase of a series that begins with 1. Of another one, what
 * bounds its values.
 */
export type LabelFacts = string | Readonly<Record<string, string>>;

/** Counts `by` more, 1 by default, for this value of the label. A value that a closed label does not have is `other`. */
export type Count = (value?: string, by?: number) => void;

/** All that can be counted: what happens to clients and to the process, in a take-over, and in discovery, by its type. */
export type MetricEvents = SidecarObserver & { tookOver?(event: TakeOverEvent): void } & {
	readonly [T in DiscoveryEvent['type']]?: (event: Extract<DiscoveryEvent, { readonly type: T }>) => void;
};

/** What is read at each scrape. */
export interface MetricsSource {
	gauges(): SidecarGauges;
	watches(): readonly Omit<WatchStatus, 'meta'>[];
	keyWatches(): readonly KeyWatchStatus[];
	backend(): BackendStatus;
	isReady(): boolean;
	/** Lines that the log lacks, since the start. Default: none. */
	logLinesDropped?(): Readonly<Record<'unread' | 'limited', number>>;
	/** Services whose age is a metric by name. Default {@link DEFAULT_METRICS_SERVICES_MAX}. */
	readonly servicesMax?: number | undefined;
	/** The limits in force, by name; what is no number is left out. */
	readonly limits: Readonly<Record<keyof ResolvedLimits, number | string>>;
}

/** The same, with what the metrics know themselves. */
export interface MetricsState extends MetricsSource {
	phase(): string;
}

/** Services whose age is a metric by name, if nothing else is said. */
export const DEFAULT_METRICS_SERVICES_MAX = 20;
