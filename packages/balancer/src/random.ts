import type { ServiceInstance } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import type { Picker, PickOptions } from './picker.ts';
import { rendezvous } from './rendezvous.ts';

/** Any serving instance, all equally likely. */
export class RandomPicker implements Picker {
	readonly policy = 'random';
	readonly #serving: readonly ServiceInstance[];
	readonly #random: Random;

	constructor(serving: readonly ServiceInstance[], random: Random) {
		this.#serving = serving;
		this.#random = random;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		if (options?.key !== undefined) return rendezvous(this.#serving, options.key);
		return this.#serving[Math.floor(this.#random() * this.#serving.length)];
	}
}
