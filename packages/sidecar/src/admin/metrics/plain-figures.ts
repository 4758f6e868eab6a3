import { Counter, type Histogram, type Registry } from 'prom-client';

import { factsOf } from './metric-table.ts';

/**
 * A counter with at most one label, counted in plain numbers and handed over at each scrape: prom-client's own counting makes
 * and hashes an object for each count, and pushes and turns are counted thousands of times a second.
 */
export class PlainCounts {
	readonly #counts: Map<string, number>;
	readonly #isClosed: boolean;

	/** Registers the counter of this name; `read` gives, at each scrape, totals that are counted elsewhere. */
	constructor(registry: Registry, name: string, read: () => Readonly<Record<string, number>> = () => ({})) {
		const { help, labels = {} } = factsOf(name);
		const [[label, values] = [undefined, { '': '' }]] = Object.entries(labels);
		this.#isClosed = typeof values === 'object';
		const counts = new Map<string, number>(
			typeof values === 'object' ? Object.keys(values).map((key) => [key, 0]) : [],
		);
		this.#counts = counts;
		new Counter({
			name,
			help,
			labelNames: label === undefined ? [] : [label],
			registers: [registry],
			collect() {
				for (const [value, count] of Object.entries(read())) counts.set(value, count);
				this.reset();
				for (const [value, count] of counts) this.inc(label === undefined ? {} : { [label]: value }, count);
			},
		});
	}

	/** Counts `count` more for this value of the label; a value that a closed label does not have is `other`. */
	add(value = '', count = 1): void {
		const known = this.#counts.get(value);
		if (known !== undefined) this.#counts.set(value, known + count);
		else if (this.#isClosed) this.#counts.set('other', (this.#counts.get('other') ?? 0) + count);
		else this.#counts.set(value, count);
	}
}

/** Calls of the gRPC front, in plain numbers that are handed over at each scrape; both labels are of closed sets. */
export class GrpcCounts {
	readonly #counts = new Map<string, Map<string, number>>();

	constructor(registry: Registry) {
		const name = 'spock_grpc_requests_total';
		const { help, labels: { method: methods = {} } = {} } = factsOf(name);
		for (const method of Object.keys(methods)) this.#counts.set(method, new Map([['OK', 0]]));
		const counts = this.#counts;
		new Counter({
			name,
			help,
			labelNames: ['method', 'code'],
			registers: [registry],
			collect() {
				this.reset();
				for (const [method, codes] of counts) {
					for (const [code, count] of codes) this.inc({ method, code }, count);
				}
			},
		});
	}

	add(method: string, code: string): void {
		const codes = this.#counts.get(method);
		codes?.set(code, (codes.get(code) ?? 0) + 1);
	}
}

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
