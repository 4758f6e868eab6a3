import type { ServiceInstance } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import type { Picker, PickOptions } from './picker.ts';
import { rendezvous } from './rendezvous.ts';

/**
 * Each serving instance with a chance in proportion to its weight. Weight 0 gets nothing, unless every weight is 0: then
 * all are equal, because an answer is better than none.
 */
export class WeightedPicker implements Picker {
	readonly policy = 'weighted';
	readonly #serving: readonly ServiceInstance[];
	// sums[i] is the weight of the instances up to and with i: a pick is one binary search.
	readonly #sums: Float64Array;
	readonly #random: Random;

	constructor(serving: readonly ServiceInstance[], random: Random) {
		const allZero = serving.every(({ weight }) => weight === 0);
		this.#serving = allZero ? serving : serving.filter(({ weight }) => weight > 0);
		this.#sums = new Float64Array(this.#serving.length);
		let sum = 0;
		for (const [index, { weight }] of this.#serving.entries()) {
			sum += allZero ? 1 : weight;
			this.#sums[index] = sum;
		}
		this.#random = random;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		if (options?.key !== undefined) return rendezvous(this.#serving, options.key);
		const point = this.#random() * (this.#sums.at(-1) ?? 0);
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
