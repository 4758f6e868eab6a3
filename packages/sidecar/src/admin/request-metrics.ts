import { Counter, type Histogram, type Registry } from 'prom-client';

/** From 10 µs, which is a cached answer, to 1 s. */
const DURATION_BUCKETS_SECONDS: readonly number[] = [
	0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
];

/** Requests of one function. */
class FuncTally {
	readonly countByCode = new Map<string, number>();
	/** By the first bucket that holds a duration; one more for what is above all. */
	readonly bucketCounts = new Float64Array(DURATION_BUCKETS_SECONDS.length + 1);
	durationSum = 0;
}

/**
 * Requests by function, outcome and duration. Counted in plain numbers and handed over at each scrape: counting in
 * prom-client's own objects took a third of the time of a cached answer.
 */
export class RequestMetrics {
	readonly #tallies = new Map<string, FuncTally>();

	/** Registers both metrics. */
	constructor(registry: Registry) {
		const tallies = this.#tallies;
		new Counter({
			name: 'spock_requests_total',
			help: 'Requests by function and outcome',
			labelNames: ['func', 'code'],
			registers: [registry],
			collect() {
				this.reset();
				for (const [func, { countByCode }] of tallies) {
					for (const [code, count] of countByCode) this.inc({ func, code }, count);
				}
			},
		});
		// The registry asks for these members and no others; its type wants the whole class.
		registry.registerMetric(new DurationHistogram(tallies) as unknown as Histogram);
	}

	/** The durations of all functions together. */
	durations(): Durations {
		const counts = DURATION_BUCKETS_SECONDS.map(() => 0).concat(0);
		for (const { bucketCounts } of this.#tallies.values()) {
			for (const [index, count] of bucketCounts.entries()) counts[index] = (counts[index] as number) + count;
		}
		return { boundsMs: DURATION_BUCKETS_SECONDS.map((seconds) => seconds * 1000), counts };
	}

	/** `count` requests that took `durationMs` each. */
	add(func: string, code: string, durationMs: number, count: number): void {
		let tally = this.#tallies.get(func);
		if (tally === undefined) {
			tally = new FuncTally();
			this.#tallies.set(func, tally);
		}
		tally.countByCode.set(code, (tally.countByCode.get(code) ?? 0) + count);
		const seconds = durationMs / 1000;
		let bucket = 0;
		while (bucket < DURATION_BUCKETS_SECONDS.length && seconds > (DURATION_BUCKETS_SECONDS[bucket] as number)) bucket++;
		tally.bucketCounts[bucket] = (tally.bucketCounts[bucket] as number) + count;
		tally.durationSum += seconds * count;
	}
}

/** Requests by how long they took. */
export interface Durations {
	/** Upper bounds of the buckets; of the last one there is none. */
	readonly boundsMs: readonly number[];
	/** Requests in each bucket, since the start; one more than there are bounds. */
	readonly counts: readonly number[];
}

/** What a registry asks of a metric, as a histogram whose values are read from the tallies. */
class DurationHistogram {
	readonly name = 'spock_request_duration_seconds';
	readonly help = 'Time from the reading of a request to its answer, in the sidecar';
	readonly type = 'histogram';
	readonly aggregator = 'sum';
	readonly #tallies: Map<string, FuncTally>;

	constructor(tallies: Map<string, FuncTally>) {
		this.#tallies = tallies;
	}

	async get(): Promise<object> {
		const { name, help, type, aggregator } = this;
		const values = [...this.#tallies].flatMap(([func, { bucketCounts, durationSum }]) => {
			let count = 0;
			const buckets = [...DURATION_BUCKETS_SECONDS, '+Inf'].map((le, index) => {
				count += bucketCounts[index] as number;
				return { metricName: `${name}_bucket`, labels: { le, func }, value: count };
			});
			return [
				...buckets,
				{ metricName: `${name}_sum`, labels: { func }, value: durationSum },
				{ metricName: `${name}_count`, labels: { func }, value: count },
			];
		});
		return { name, help, type, aggregator, values };
	}

	reset(): void {
		this.#tallies.clear();
	}
}
