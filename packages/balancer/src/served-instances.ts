import {
	isServing,
	isStale,
	normaliseQuery,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceSnapshot,
	SpockError,
} from '@spock/protocol';
import { queryPhrase } from '@spock/protocol/internal';

import type { InstanceRecord } from './instance-record.ts';

/**
 * The instances of a snapshot that get work: the healthy ones (passing and warning), or in a panic all there are. Weight 0
 * is no share of the work under every policy, unless all that are left have it: an answer is better than none. One without a port,
 * which a sidecar leaves out and an app's own source may not, gets none.
 */
export function servedInstances({
	instances,
	panic,
}: Pick<ServiceSnapshot, 'instances' | 'panic'>): readonly ServiceInstance[] {
	const serving = instances.filter((one) => hasPort(one) && (panic === true || isServing(one)));
	const weighing = serving.filter(hasWeight);
	return weighing.length > 0 ? weighing : serving;
}

export function hasPort({ port }: Pick<ServiceInstance, 'port'>): boolean {
	return port > 0;
}

function hasWeight({ weight }: ServiceInstance): boolean {
	return weight > 0;
}

/** Who gets work while some are ejected. */
export interface Spared {
	readonly serving: readonly ServiceInstance[];
	/** When to check again, on the clock of the records: an instance may come back then. Infinity if none is ejected. */
	readonly untilMs: number;
}

/**
 * The instances without those that are ejected; at most `percentMax` of them are left out, those that come back last: a
 * service whose every instance fails is still called.
 */
export function spareEjected(
	instances: readonly ServiceInstance[],
	recordOf: (instance: ServiceInstance) => InstanceRecord | undefined,
	nowMs: number,
	percentMax: number,
): Spared {
	const ejected: { instance: ServiceInstance; untilMs: number }[] = [];
	for (const instance of instances) {
		const untilMs = recordOf(instance)?.ejectedUntilMs ?? Number.NEGATIVE_INFINITY;
		if (untilMs > nowMs) ejected.push({ instance, untilMs });
	}
	if (ejected.length === 0) return { serving: instances, untilMs: Number.POSITIVE_INFINITY };
	ejected.sort((left, right) => right.untilMs - left.untilMs);
	const outMax = Math.floor((instances.length * percentMax) / 100);
	const out = new Set(ejected.slice(0, outMax).map(({ instance }) => instance));
	return {
		serving: instances.filter((instance) => !out.has(instance)),
		untilMs: Math.min(...ejected.map(({ untilMs }) => untilMs)),
	};
}

/** The answer to getService: where the instance is; and, only when the snapshot is not live, that it is stale and how old. */
export function toAddress(
	chosen: ServiceInstance,
	snapshot: Pick<ServiceSnapshot, 'source' | 'ageMs' | 'verifiedAt'>,
): ServiceAddress {
	const { host, port, instance } = chosen;
	if (!isStale(snapshot)) return { host, port, instance };
	return { host, port, instance, stale: true, ageMs: snapshot.ageMs, verifiedAt: snapshot.verifiedAt };
}

/**
 * Why nothing can be picked from this snapshot: NO_SUCH_SERVICE when it has no instance at all, NO_HEALTHY_INSTANCE
 * (retryable) when it has some and none may be sent work; the details then count them by status.
 */
export function noInstanceError(snapshot: ServiceSnapshot): SpockError {
	const { service, instances, ageMs } = snapshot;
	const age = isStale(snapshot) ? ` (as of ${Math.round(ageMs)} ms ago)` : '';
	const which = `no instance of ${JSON.stringify(service)}${queryPhrase(snapshot, 'condition')}`;
	const place = queryPhrase(snapshot, 'scope');
	const asked = { ...normaliseQuery(snapshot) };
	if (instances.length === 0) {
		return new SpockError('NO_SUCH_SERVICE', `${which} is registered${place}${age}`, { details: asked });
	}
	if (!instances.some(hasPort)) {
		const message = `none of the ${instances.length} instances of ${JSON.stringify(service)} has a port${age}`;
		return new SpockError('NO_HEALTHY_INSTANCE', message, { details: asked });
	}
	const statuses: Record<string, number> = {};
	for (const { status } of instances) statuses[status] = (statuses[status] ?? 0) + 1;
	const counted = Object.entries(statuses).map(([status, count]) => `${count} ${status}`);
	const message = `${which}${place} is healthy: ${counted.join(', ')}${age}`;
	return new SpockError('NO_HEALTHY_INSTANCE', message, { details: { ...asked, statuses } });
}
