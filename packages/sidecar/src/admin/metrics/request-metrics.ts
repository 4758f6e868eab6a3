import { Counter, type Registry } from 'prom-client';

import { factsOf } from './metric-table.ts';
import { DurationTally, registerHistogram } from './plain-figures.ts';

/** From 10 µs, which is a cached answer, to 1 s. */
const DURATION_BUCKETS_SECONDS: readonly number[] = [
	0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
];

/** Requests of one function. */
class FuncTally {
	readonly countByCode = new Map<string, number>();
	readonly duration: DurationTally = new DurationTally(DURATION_BUCKETS_SECONDS);
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
		const name = 'spock_requests_total';
		new Counter({
			name,
			help: factsOf(name).help,
			labelNames: ['func', 'code'],
			registers: [registry],
			collect() {
				this.reset();
				for (const [func, { countByCode }] of tallies) {
					for (const [code, count] of countByCode) this.inc({ func, code }, count);
				}
			},
		});
		registerHistogram(registry, 'spock_request_duration_seconds', DURATION_BUCKETS_SECONDS, () =>
			[...tallies].map(([func, { duration }]) => ({ labels: { func }, tally: duration })),
		);
	}

	/** The durations of all functions together. */
	durations(): Durations {
		const counts = DURATION_BUCKETS_SECONDS.map(() => 0).concat(0);
		for (const { duration } of this.#tallies.values()) {
			for (const [index, count] of duration.counts.entries()) counts[index] = (counts[index] as number) + count;
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
		tally.duration.add(durationMs / 1000, count);
	}
}

/** Requests by how long they took. */
export interface Durations {
	/** Upper bounds of the buckets; of the last one there is none. */
	readonly boundsMs: readonly number[];
	/** Requests in each bucket, since the start; one more than there are bounds. */
	readonly counts: readonly number[];
}
