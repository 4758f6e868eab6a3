import type { Registry } from 'prom-client';

import type { Metric } from './metric.ts';
import { DurationTally, registerSeries, TalliedHistogram } from './tallied.ts';

/** From 10 µs, which is a cached answer, to 1 s. */
const DURATION_BUCKETS_SECONDS: readonly number[] = [
	0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
];

const REQUESTS: Metric = {
	type: 'counter',
	help: 'Requests answered, by function and outcome',
	labels: {
		func: 'a function of the protocol, or `other`',
		code: '`ok` or an error code of the protocol',
	},
};

const DURATIONS: Metric = {
	type: 'histogram',
	help: 'Time in the sidecar from reading a request to its answer; about 10 µs for a known answer',
	labels: { func: 'as above' },
};

const GRPC_METHODS = {
	Get: '',
	Watch: '',
	List: '',
	Explain: '',
	Check: 'of health',
	HealthWatch: '',
	ServerReflectionInfo: 'only if refused',
};

const GRPC_REQUESTS: Metric = {
	type: 'counter',
	help: 'Calls of the gRPC front, by method and status',
	labels: { method: GRPC_METHODS, code: 'a status of gRPC: `OK`, `NOT_FOUND`, …' },
};

/** What is counted of each request. */
export const requestMetrics: Readonly<Record<string, Metric>> = {
	spock_requests_total: REQUESTS,
	spock_request_duration_seconds: DURATIONS,
	spock_grpc_requests_total: GRPC_REQUESTS,
};

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
	readonly #grpc = new Map(Object.keys(GRPC_METHODS).map((method) => [method, new Map([['OK', 0]])]));

	/** Registers them. */
	constructor(registry: Registry) {
		const [tallies, grpc] = [this.#tallies, this.#grpc];
		registerSeries(registry, 'spock_requests_total', REQUESTS, function* () {
			for (const [func, { countByCode }] of tallies) {
				for (const [code, count] of countByCode) yield [{ func, code }, count];
			}
		});
		new TalliedHistogram(registry, 'spock_request_duration_seconds', DURATIONS, DURATION_BUCKETS_SECONDS, function* () {
			for (const [func, { duration }] of tallies) yield [{ func }, duration];
		});
		registerSeries(registry, 'spock_grpc_requests_total', GRPC_REQUESTS, function* () {
			for (const [method, codes] of grpc) for (const [code, count] of codes) yield [{ method, code }, count];
		});
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

	/** A call of the gRPC front; a method that it does not have is not counted. */
	addGrpc(method: string, code: string): void {
		const codes = this.#grpc.get(method);
		codes?.set(code, (codes.get(code) ?? 0) + 1);
	}
}

/** Requests by how long they took. */
export interface Durations {
	/** Upper bounds of the buckets; the last bucket has none. */
	readonly boundsMs: readonly number[];
	/** Requests in each bucket, since the start; one more than there are bounds. */
	readonly counts: readonly number[];
}
