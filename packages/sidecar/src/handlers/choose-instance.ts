import { type BalancingPolicy, createPicker, noInstanceError, type Picker } from '@spock/balancer';
import type { GetServiceData, ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

/** Picks one of the instances that get work. Throws NO_SUCH_SERVICE or NO_HEALTHY_INSTANCE. */
export type ChooseInstance = (snapshot: ServiceSnapshot, data: Pick<GetServiceData, 'key'>) => ServiceInstance;

/** Balances by this policy over everybody who asks. */
export function instanceChooser(policy: BalancingPolicy, random: Random = Math.random): ChooseInstance {
	// By the list and not by the snapshot: while the registry is away every read is a new snapshot over the same list.
	const pickers = new WeakMap<readonly ServiceInstance[], Picker>();
	return (snapshot, data) => {
		let picker = pickers.get(snapshot.instances);
		if (picker === undefined) {
			picker = createPicker(policy, snapshot, { random });
			pickers.set(snapshot.instances, picker);
		}
		const instance = picker.pick(data);
		if (instance === undefined) throw noInstanceError(snapshot);
		return instance;
	};
}
