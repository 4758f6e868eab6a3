import { type ServiceSnapshot, SpockError } from '@spock/protocol';

/**
 * Why nothing can be picked from this snapshot: NO_SUCH_SERVICE when it has no instance at all, NO_HEALTHY_INSTANCE
 * (retryable) when it has some and none may be sent work; the details then count them by status.
 */
export function noInstanceError(snapshot: ServiceSnapshot): SpockError {
	const { service, tags, datacenter, instances, source, ageMs } = snapshot;
	const asked = { service, ...(tags && { tags }), ...(datacenter !== undefined && { datacenter }) };
	const place = datacenter === undefined ? '' : ` in datacenter ${JSON.stringify(datacenter)}`;
	const marks = tags === undefined ? '' : ` with the tags ${tags.join(', ')}`;
	const age = source === 'last-known-good' ? ` (as of ${Math.round(ageMs)} ms ago)` : '';
	if (instances.length === 0) {
		return new SpockError(
			'NO_SUCH_SERVICE',
			`no instance of ${JSON.stringify(service)}${marks} is registered${place}${age}`,
			{ details: asked },
		);
	}
	const statuses: Record<string, number> = {};
	for (const { status } of instances) statuses[status] = (statuses[status] ?? 0) + 1;
	const counted = Object.entries(statuses).map(([status, count]) => `${count} ${status}`);
	return new SpockError(
		'NO_HEALTHY_INSTANCE',
		`no instance of ${JSON.stringify(service)}${marks}${place} is healthy: ${counted.join(', ')}${age}`,
		{ details: { ...asked, statuses } },
	);
}
