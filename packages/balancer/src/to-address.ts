import { isStale, type ServiceAddress, type ServiceInstance, type ServiceSnapshot } from '@spock/protocol';

/** The answer to getService: where the instance is; and, only when the snapshot is not live, that it is stale and how old. */
export function toAddress(
	chosen: ServiceInstance,
	snapshot: Pick<ServiceSnapshot, 'source' | 'ageMs' | 'verifiedAt'>,
): ServiceAddress {
	const { host, port, instance } = chosen;
	if (!isStale(snapshot)) return { host, port, instance };
	return { host, port, instance, stale: true, ageMs: snapshot.ageMs, verifiedAt: snapshot.verifiedAt };
}
