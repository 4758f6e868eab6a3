/** What one metric is: for the scrape, where `help` stands, and for the table in docs/reference/metrics.md. */
export interface MetricFacts {
	readonly type: 'counter' | 'gauge' | 'histogram';
	/** What it counts, and what to make of it. */
	readonly help: string;
	/** By the label's name. */
	readonly labels?: Readonly<Record<string, LabelFacts>>;
}

/**
 * What a label says. Of a closed one, every value with its meaning, empty where the name says it all: these are there from the
 * first scrape on, with 0, because Prometheus cannot tell the increase of a series that begins with 1. Of another one, what
 * bounds its values.
 */
export type LabelFacts = string | Readonly<Record<string, string>>;
