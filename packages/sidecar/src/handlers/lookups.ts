import {
	type BalancingPolicy,
	createPicker,
	noInstanceError,
	type Picker,
	toAddress,
	type WorkRules,
} from '@spock/balancer';
import type {
	GetServiceData,
	ServiceAddress,
	ServiceInstance,
	ServiceSnapshot,
	ServiceSource,
	WatchedSource,
} from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import { type Answer, answer, type Handler, type RequestContext } from '../connection/answer.ts';
import { snapshotPayload } from '../connection/snapshot-text.ts';
import { callOptions, keysOf } from '../foundation/sidecar-source.ts';

/** Picks one of the instances that get work. Throws NO_SUCH_SERVICE or NO_HEALTHY_INSTANCE. */
export type ChooseInstance = (snapshot: ServiceSnapshot, data: Pick<GetServiceData, 'key'>) => ServiceInstance;

/** Balances by this policy and these rules across all callers. */
export function instanceChooser(
	policy: BalancingPolicy,
	random: Random = Math.random,
	rules: WorkRules = {},
): ChooseInstance {
	// Keyed by the list and not by the snapshot: while the registry is away, every read is a new snapshot of the same list.
	const pickers = new WeakMap<readonly ServiceInstance[], Picker>();
	return (snapshot, data) => {
		let picker = pickers.get(snapshot.instances);
		if (picker === undefined) {
			picker = createPicker(policy, snapshot, { random, rules });
			pickers.set(snapshot.instances, picker);
		}
		const instance = picker.pick(data);
		if (instance === undefined) throw noInstanceError(snapshot);
		return instance;
	};
}

/** The reply from the snapshot known now, in this tick; with `maxAgeMs`, or if none is known, from the source's answer. */
function lookUp<Q, D extends Q & { readonly maxAgeMs?: number }, S, R>(
	source: WatchedSource<Q, S>,
	data: D,
	call: RequestContext,
	reply: (snapshot: S, data: D) => R,
): R | Promise<R> {
	const { maxAgeMs } = data;
	const known = maxAgeMs === undefined ? source.peek(data) : undefined;
	if (known !== undefined) return reply(known, data);
	return source
		.get(data, { ...callOptions(call, call.caller.share), maxAgeMs })
		.then((snapshot) => reply(snapshot, data));
}

/** One healthy instance, balanced across all callers of this sidecar. */
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

	return (data, call) => lookUp(source, data, call, choose);
}

/** The whole snapshot of a service, unhealthy instances too. */
export function getInstancesHandler(source: ServiceSource): Handler<'getInstances'> {
	return (data, call) => lookUp(source, data, call, (snapshot) => call.caller.answerWith(snapshot));
}

/** The names of all services. */
export function listServicesHandler(source: ServiceSource): Handler<'listServices'> {
	return async (data, call) =>
		call.caller.answerWithList(await source.list(data, callOptions(call, call.caller.share)));
}

/** The current snapshot; its changes are pushed from now on. */
export const watchServiceHandler: Handler<'watchService'> = (data, call) => call.caller.subscribe(data, call);

/** No more pushes of this query. */
export const unwatchServiceHandler: Handler<'unwatchService'> = (data, { caller }) => {
	caller.unsubscribe(data);
	return answer(null);
};

/** The value of a key, or all keys that begin with it. A key that does not exist has the value null. */
export function getKeyHandler(source: ServiceSource): Handler<'getKey'> {
	return (data, call) => lookUp(keysOf(source), data, call, snapshotPayload);
}

/** The current value of a key or a prefix; its changes are pushed from now on. */
export const watchKeyHandler: Handler<'watchKey'> = (data, call) => call.caller.subscribeKey(data, call);

/** No more pushes of this key or prefix. */
export const unwatchKeyHandler: Handler<'unwatchKey'> = (data, { caller }) => {
	caller.unsubscribeKey(data);
	return answer(null);
};
