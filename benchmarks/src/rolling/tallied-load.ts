import type { Clock, TimerHandle } from '@spock/protocol/internal';

import { OUTSTANDING_MAX } from '../load/open-loop.ts';
import { Samples } from '../load/samples.ts';
import { errorLabel } from './error-label.ts';
import type { Tally } from './rolling-messages.ts';
import type { Way } from './ways/way.ts';

const EXAMPLES_MAX = 5;

/**
 * Requests at a fixed rate, whatever becomes of those before, each counted by how it ended. Latency counts from the moment
 * a request was due, so that one which was held up in this process or the one before it is not taken for fast.
 */
export class TalliedLoad {
	readonly #way: Way;
	readonly #clock: Clock;
	readonly #periodMs: number;
	readonly #latencies = new Samples();
	readonly #failures = new Map<string, number>();
	readonly #answered = new Map<string, number>();
	readonly #examples: string[] = [];
	readonly #outstanding = new Set<Promise<void>>();
	#requests = 0;
	#turnedAway = 0;
	/** When the next request is due. */
	#dueMs = 0;
	#timer: TimerHandle | undefined;

	constructor(way: Way, rate: number, clock: Clock) {
		this.#way = way;
		this.#clock = clock;
		this.#periodMs = 1000 / rate;
	}

	begin(): void {
		this.#dueMs = this.#clock.now();
		this.#step();
	}

	/** Makes no more requests, waits for those that are under way, and tells of all. */
	async end(): Promise<Tally> {
		this.#clock.clearTimeout(this.#timer);
		await Promise.all(this.#outstanding);
		this.#latencies.sort();
		return {
			requests: this.#requests,
			turnedAway: this.#turnedAway,
			failures: Object.fromEntries(this.#failures),
			examples: this.#examples,
			retries: this.#way.retries(),
			p50Ms: this.#latencies.percentile(0.5),
			p99Ms: this.#latencies.percentile(0.99),
			maxMs: this.#latencies.percentile(1),
			answered: Object.fromEntries(this.#answered),
		};
	}

	#step(): void {
		const nowMs = this.#clock.now();
		for (; this.#dueMs <= nowMs; this.#dueMs += this.#periodMs) this.#make(this.#dueMs);
		this.#timer = this.#clock.setTimeout(() => this.#step(), this.#dueMs - nowMs);
	}

	#make(dueMs: number): void {
		this.#requests++;
		if (this.#outstanding.size >= OUTSTANDING_MAX) {
			this.#turnedAway++;
			return;
		}
		const settled = this.#way.call().then(
			(instance) => {
				this.#latencies.add(this.#clock.now() - dueMs);
				this.#answered.set(instance, (this.#answered.get(instance) ?? 0) + 1);
			},
			(error: unknown) => this.#fail(error),
		);
		const call = settled.finally(() => this.#outstanding.delete(call));
		this.#outstanding.add(call);
	}

	#fail(error: unknown): void {
		const label = errorLabel(error);
		this.#failures.set(label, (this.#failures.get(label) ?? 0) + 1);
		if (this.#examples.length < EXAMPLES_MAX) this.#examples.push(String(error));
	}
}
