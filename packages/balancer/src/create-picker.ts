import type { ServiceSnapshot } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import type { BalancingPolicy, Picker } from './picker.ts';
import { RandomPicker } from './random.ts';
import { RoundRobinPicker } from './round-robin.ts';
import { servedInstances } from './served-instances.ts';
import { WeightedPicker } from './weighted.ts';

/** The policy where none is named. */
export const DEFAULT_POLICY: BalancingPolicy = 'round-robin';

/** Every policy there is. */
export const balancingPolicies: readonly BalancingPolicy[] = Object.freeze([
	'round-robin',
	'random',
	'weighted',
	'consistent-hash',
]);

/** Options of {@link createPicker}. */
export interface PickerOptions {
	/** Default `Math.random`. */
	readonly random?: Random;
}

/**
 * A picker over the instances of this snapshot that get work: see `servedInstances`. Under `consistent-hash`, picks
 * without a key go round.
 */
export function createPicker(policy: BalancingPolicy, snapshot: ServiceSnapshot, options: PickerOptions = {}): Picker {
	const random = options.random ?? Math.random;
	const serving = servedInstances(snapshot);
	switch (policy) {
		case 'round-robin':
		case 'consistent-hash':
			return new RoundRobinPicker(serving, Math.floor(random() * serving.length), policy);
		case 'random':
			return new RandomPicker(serving, random);
		case 'weighted':
			return new WeightedPicker(serving, random);
	}
}
