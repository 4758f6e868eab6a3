import type { ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import { RandomPicker, RoundRobinPicker } from './equal-shares.ts';
import { InstanceRecord } from './instance-record.ts';
import type { BalancingPolicy, Picker } from './picker.ts';
import { servedInstances } from './served-instances.ts';
import { TwoChoicesPicker } from './two-choices.ts';
import { WeightedPicker } from './weighted.ts';

/** Options of {@link createPicker}. */
export interface PickerOptions {
	/** Default `Math.random`. */
	readonly random?: Random;
	/** What is known of the calls to an instance, for the policies that need it. Default: nothing. */
	readonly recordOf?: (instance: ServiceInstance) => InstanceRecord;
	/** The clock of the records, in milliseconds. Default: stands still. */
	readonly now?: () => number;
}

/**
 * A picker over the instances of this snapshot that get work: see `servedInstances`. Under `consistent-hash`, picks
 * without a key go round.
 */
export function createPicker(policy: BalancingPolicy, snapshot: ServiceSnapshot, options: PickerOptions = {}): Picker {
	return pickerOver(policy, servedInstances(snapshot), options);
}

/** A picker over these instances, whatever their status: as `createPicker` else. */
export function pickerOver(
	policy: BalancingPolicy,
	serving: readonly ServiceInstance[],
	{ random = Math.random, recordOf = () => new InstanceRecord(), now = () => 0 }: PickerOptions = {},
): Picker {
	switch (policy) {
		case 'round-robin':
		case 'consistent-hash':
			return new RoundRobinPicker(serving, Math.floor(random() * serving.length), policy);
		case 'random':
			return new RandomPicker(serving, random);
		case 'weighted':
			return new WeightedPicker(serving, random);
		case 'least-in-flight':
		case 'least-latency':
			return new TwoChoicesPicker(policy, serving, recordOf, random, now);
	}
}
