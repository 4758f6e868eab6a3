import type { Histogram, Registry } from 'prom-client';

import { factsOf } from './metric-table.ts';

/** Durations of one kind, in plain numbers. */
export class DurationTally {
	/** By the first bucket that holds a duration; one more for what is above all. */
	readonly counts: Float64Array;
	sum = 0;
	readonly #bounds: readonly number[];

	/** `bounds`: the upper bounds of the buckets, in seconds, ascending. */
	constructor(bounds: readonly number[]) {
		this.#bounds = bounds;
		this.counts = new Float64Array(bounds.length + 1);
	}

	/** `count` durations of `seconds` each. */
	add(seconds: number, count: number): void {
		const bounds = this.#bounds;
		let bucket = 0;
		while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++;
		this.counts[bucket] = (this.counts[bucket] as number) + count;
		this.sum += seconds * count;
	}
}

/** One series of a histogram. */
export interface HistogramSeries {
	readonly labels: Readonly<Record<string, string>>;
	readonly tally: DurationTally;
}

/** Registers a histogram that is read from tallies at each scrape. */
export function registerHistogram(
	registry: Registry,
	name: string,
	bounds: readonly number[],
	read: () => readonly HistogramSeries[],
): void {
	// The registry asks for the members of this class and no others; its type wants the whole of its own.
	registry.registerMetric(new TalliedHistogram(name, bounds, read) as unknown as Histogram);
}

/** What a registry asks of a metric. */
class TalliedHistogram {
	readonly name: string;
	readonly help: string;
	readonly type = 'histogram';
	readonly aggregator = 'sum';
	readonly #bounds: readonly number[];
	readonly #read: () => readonly HistogramSeries[];

	constructor(name: string, bounds: readonly number[], read: () => readonly HistogramSeries[]) {
		this.name = name;
		this.help = factsOf(name).help;
		this.#bounds = bounds;
		this.#read = read;
	}

	async get(): Promise<object> {
		const { name, help, type, aggregator } = this;
		const values = this.#read().flatMap(({ labels, tally }) => {
			let count = 0;
			const buckets = [...this.#bounds, '+Inf'].map((le, index) => {
				count += tally.counts[index] as number;
				return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
			});
			return [
				...buckets,
				{ metricName: `${name}_sum`, labels, value: tally.sum },
				{ metricName: `${name}_count`, labels, value: count },
			];
		});
		return { name, help, type, aggregator, values };
	}
}
