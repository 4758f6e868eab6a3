import type { ServiceInstance } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import type { Picker, PickOptions } from './picker.ts';
import { rendezvous } from './rendezvous.ts';

/**
 * Each serving instance with a chance in proportion to its weight. Weights are 0 only where all are: then all are equal.
 */
export class WeightedPicker implements Picker {
	readonly policy = 'weighted';
	readonly #serving: readonly ServiceInstance[];
	// sums[i] is the weight of the instances up to and with i: a pick is one binary search.
	readonly #sums: Float64Array;
	readonly #sum: number;
	readonly #random: Random;

	constructor(serving: readonly ServiceInstance[], random: Random) {
		this.#serving = serving;
		let sum = 0;
		this.#sums = Float64Array.from(this.#serving, ({ weight }) => {
			sum += weight || 1;
			return sum;
		});
		this.#sum = sum;
		this.#random = random;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		if (options?.key !== undefined) return rendezvous(this.#serving, options.key);
		const point = this.#random() * this.#sum;
		let low = 0;
		let high = this.#serving.length - 1;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.#sums[middle] as number) > point) high = middle;
			else low = middle + 1;
		}
		return this.#serving[low];
	}
}
