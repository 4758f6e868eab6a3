import { type ServiceSnapshot, SpockError } from '@spock/client';
import { noInstanceError, servedInstances } from '@spock/client/integrations';

import type { InstancePlace } from './balancing-plan.ts';
import type { GrpcModule } from './grpc-module.ts';

/** Where the instances of a service are, or why there are none to call. */
export interface ServiceAddresses {
	/** Equal for what is the same to a channel. */
	readonly key: string;
	/** Each instance by its address, as grpc-js writes addresses. */
	readonly instances: ReadonlyMap<string, InstancePlace>;
	readonly endpoints: { addresses: { host: string; port: number }[] }[];
	readonly unavailable: SpockError | undefined;
}

/**
 * The addresses of the instances that get work. Two instances at one address are one endpoint.
 *
 * @param ejectedAmong Those of the given instances that get none because calls to them failed.
 */
export function addressesOf(
	grpc: GrpcModule,
	snapshot: ServiceSnapshot,
	ejectedAmong: (instances: readonly InstancePlace[]) => ReadonlySet<InstancePlace>,
): ServiceAddresses {
	// A channel cannot call what has no port.
	const served = servedInstances(snapshot).filter(({ port }) => port > 0);
	const ejected = ejectedAmong(served);
	const instances = new Map<string, InstancePlace>();
	const endpoints: ServiceAddresses['endpoints'] = [];
	for (const one of served) {
		if (ejected.has(one)) continue;
		const { host, port } = one;
		const address = { host, port };
		const name = grpc.experimental.subchannelAddressToString(address);
		if (instances.has(name)) continue;
		instances.set(name, one);
		endpoints.push({ addresses: [address] });
	}
	if (endpoints.length === 0) return noAddresses(reasonFor(snapshot));
	// An instance that was replaced by another at its address is to be reported under its new name.
	const key = JSON.stringify([...instances].map(([name, { instance }]) => [name, instance]).sort());
	return { key, instances, endpoints, unavailable: undefined };
}

/** No addresses, for a reason. */
export function noAddresses(reason: SpockError): ServiceAddresses {
	return { key: `${reason.code}: ${reason.message}`, instances: new Map(), endpoints: [], unavailable: reason };
}

function reasonFor(snapshot: ServiceSnapshot): SpockError {
	const served = servedInstances(snapshot).length;
	if (served === 0) {
		// Without its age, which would make each snapshot a new reason while the sidecar is away.
		return noInstanceError({ ...snapshot, source: 'live', ageMs: 0 });
	}
	const { service } = snapshot;
	const message = `none of the ${served} instances of ${JSON.stringify(service)} has a port`;
	return new SpockError('NO_HEALTHY_INSTANCE', message, { details: { service } });
}
