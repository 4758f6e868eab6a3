import type { ServiceInstance } from '@spock/protocol';

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
