import { type BalancingPolicy, createPicker, noInstanceError, type Picker, toAddress } from '@spock/balancer';
import type { GetServiceData, ServiceAddress, ServiceInstance, ServiceSnapshot, ServiceSource } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import { type Answer, answer, type Handler } from '../server/answer.ts';
import { callOptions } from '../server/call-options.ts';

/** One healthy instance, balanced over everybody who asks this sidecar. */
export function getServiceHandler(
	source: ServiceSource,
	policy: BalancingPolicy,
	random: Random = Math.random,
): Handler<'getService'> {
	// By the list and not by the snapshot: while the registry is away every read is a new snapshot over the same list.
	const pickers = new WeakMap<readonly ServiceInstance[], Picker>();
	// The payload of a live answer is the same until the instance changes: it is serialised once.
	const payloads = new WeakMap<ServiceInstance, Answer<ServiceAddress>>();

	const choose = (snapshot: ServiceSnapshot, data: GetServiceData): Answer<ServiceAddress> => {
		let picker = pickers.get(snapshot.instances);
		if (picker === undefined) {
			picker = createPicker(policy, snapshot, { random });
			pickers.set(snapshot.instances, picker);
		}
		const instance = picker.pick(data);
		if (instance === undefined) throw noInstanceError(snapshot);
		if (snapshot.source === 'last-known-good') return answer(toAddress(instance, snapshot));
		let payload = payloads.get(instance);
		if (payload === undefined) {
			payload = answer(toAddress(instance, snapshot));
			payloads.set(instance, payload);
		}
		return payload;
	};

	return (data, call) => {
		const { maxAgeMs } = data;
		const known = maxAgeMs === undefined ? source.peek(data) : undefined;
		if (known !== undefined) return choose(known, data);
		return source.get(data, { ...callOptions(call), maxAgeMs }).then((snapshot) => choose(snapshot, data));
	};
}
