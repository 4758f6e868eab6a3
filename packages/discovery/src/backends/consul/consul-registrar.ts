import { PlacedRegistrar } from '../../registration/places/placed-registrar.ts';
import { AgentRegistrar } from './agent-registrar.ts';
import { ConsulCatalogue } from './consul-catalogue.ts';
import type { ConsulHttp } from './http/consul-http.ts';
import { RestoreWatches } from './watches/restore-watch.ts';

/**
 * Registers at the agents of these addresses: each instance at one of them, the first while that is well. The creator closes it before
 * `http`.
 */
export function consulRegistrar(
	http: ConsulHttp,
	restores: RestoreWatches = new RestoreWatches(http),
): PlacedRegistrar {
	const places = Array.from({ length: http.addressCount }, (_, number) => new AgentRegistrar(http, number));
	return new PlacedRegistrar({ places, catalogue: new ConsulCatalogue(http, restores), clock: http.clock });
}
