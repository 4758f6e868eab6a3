import type { ServiceInstance, ServiceQuery, SpockError } from '@spock/protocol';
import { type FakeConsul, waitFor } from '@spock/testkit';

import { consulBackend } from '../src/backends/consul/consul-backend.ts';
import type { ConsulBackendOptions } from '../src/backends/consul/consul-backend-options.ts';
import type { Backend, BackendWatch } from '../src/foundation/backend.ts';
import type { DiscoveryEvent } from '../src/foundation/discovery-event.ts';

/** The question of most tests. */
export const barista: ServiceQuery = { service: 'barista' };

/** A backend with one watch, and what it reported. */
export interface Watched extends AsyncDisposable {
	readonly backend: Backend;
	readonly watch: BackendWatch;
	readonly answers: (readonly ServiceInstance[])[];
	readonly errors: SpockError[];
	readonly events: DiscoveryEvent[];
}

/** Watches over fake Consuls. Retries come at once, because the random number is 0: nothing here waits for a back-off. */
export function watched(
	fakes: readonly FakeConsul[],
	options: ConsulBackendOptions = {},
	query: ServiceQuery = barista,
): Watched {
	const events: DiscoveryEvent[] = [];
	const backend = consulBackend({
		addresses: fakes.map(({ url }) => url),
		random: () => 0,
		onEvent: (event) => events.push(event),
		...options,
	});
	const answers: (readonly ServiceInstance[])[] = [];
	const errors: SpockError[] = [];
	const watch = backend.watch(query, {
		answered: (instances) => answers.push(instances),
		failed: (error) => errors.push(error),
	});
	return { backend, watch, answers, errors, events, [Symbol.asyncDispose]: () => backend.close() };
}

/** Waits until one query blocks at the fake. */
export const blocked = (fake: FakeConsul): Promise<true> => waitFor('a query that blocks', () => fake.blocked === 1);
