import {
	isStale,
	normaliseQuery,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceSnapshot,
	SpockError,
} from '@spock/protocol';
import { queryPhrase } from '@spock/protocol/internal';

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
	const statuses: Record<string, number> = {};
	for (const { status } of instances) statuses[status] = (statuses[status] ?? 0) + 1;
	const counted = Object.entries(statuses).map(([status, count]) => `${count} ${status}`);
	const message = `${which}${place} is healthy: ${counted.join(', ')}${age}`;
	return new SpockError('NO_HEALTHY_INSTANCE', message, { details: { ...asked, statuses } });
}
