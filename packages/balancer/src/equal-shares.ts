import type { ServiceInstance } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import type { Picker, PickOptions } from './picker.ts';
import { rendezvous } from './rendezvous.ts';

/**
 * Each serving instance in turn. Starts at `offset`, which callers draw at random: a thousand clients that start together
 * do not all begin with the first instance.
 */
export class RoundRobinPicker implements Picker {
	readonly policy: 'round-robin' | 'consistent-hash';
	readonly #serving: readonly ServiceInstance[];
	#next: number;

	constructor(serving: readonly ServiceInstance[], offset: number, policy: RoundRobinPicker['policy']) {
		this.policy = policy;
		this.#serving = serving;
		this.#next = offset;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		if (options?.key !== undefined) return rendezvous(this.#serving, options.key);
		const serving = this.#serving;
		if (this.#next >= serving.length) this.#next = 0;
		return serving[this.#next++];
	}
}

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
