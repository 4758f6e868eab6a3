import type { ServiceInstance } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import type { InstanceRecord } from './instance-record.ts';
import type { Picker, PickOptions } from './picker.ts';
import { rendezvous } from './rendezvous.ts';

/**
 * Of two instances drawn at random the one with less load: nearly as even as looking at all of them, and no herd runs to
 * the one that is best for a moment (Mitzenmacher 2001, https://www.eecs.harvard.edu/~michaelm/postscripts/tpds2001.pdf).
 */
export class TwoChoicesPicker implements Picker {
	readonly policy: 'least-in-flight' | 'least-latency';
	readonly #serving: readonly ServiceInstance[];
	/** One for each of `serving`. */
	readonly #records: readonly InstanceRecord[];
	readonly #random: Random;
	readonly #now: () => number;

	constructor(
		policy: TwoChoicesPicker['policy'],
		serving: readonly ServiceInstance[],
		recordOf: (instance: ServiceInstance) => InstanceRecord,
		random: Random,
		now: () => number,
	) {
		this.policy = policy;
		this.#serving = serving;
		this.#records = serving.map(recordOf);
		this.#random = random;
		this.#now = now;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		const serving = this.#serving;
		if (options?.key !== undefined) return rendezvous(serving, options.key);
		const { length } = serving;
		if (length < 2) return serving[0];
		const first = Math.floor(this.#random() * length);
		const other = Math.floor(this.#random() * (length - 1));
		const second = other < first ? other : other + 1;
		const nowMs = this.policy === 'least-latency' ? this.#now() : 0;
		return serving[this.#load(first, nowMs) <= this.#load(second, nowMs) ? first : second];
	}

	/** In proportion to the weight; weights are 0 only where all are. */
	#load(index: number, nowMs: number): number {
		const record = this.#records[index] as InstanceRecord;
		const load = this.policy === 'least-latency' ? record.cost(nowMs) : record.inFlight + 1;
		return load / ((this.#serving[index] as ServiceInstance).weight || 1);
	}
}
