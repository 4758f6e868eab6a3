import { toAddress } from '@spock/balancer';
import type { GetServiceData, ServiceAddress, ServiceInstance, ServiceSnapshot, ServiceSource } from '@spock/protocol';

import { type Answer, answer, type Handler } from '../connection/answer.ts';
import { callOptions } from '../connection/call-options.ts';
import type { ChooseInstance } from './choose-instance.ts';

/** One healthy instance, balanced over everybody who asks this sidecar. */
export function getServiceHandler(source: ServiceSource, chooseInstance: ChooseInstance): Handler<'getService'> {
	// The payload of a live answer is the same until the instance changes: it is serialised once.
	const payloads = new WeakMap<ServiceInstance, Answer<ServiceAddress>>();

	const choose = (snapshot: ServiceSnapshot, data: GetServiceData): Answer<ServiceAddress> => {
		const instance = chooseInstance(snapshot, data);
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
		return source
			.get(data, { ...callOptions(call, call.caller.id), maxAgeMs })
			.then((snapshot) => choose(snapshot, data));
	};
}
