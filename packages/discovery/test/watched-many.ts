import type { ServiceInstance, ServiceQuery, SpockError } from '@spock/protocol';

import { consulBackend } from '../src/backends/consul/consul-backend.ts';
import type { ConsulBackendOptions } from '../src/backends/consul/consul-backend-options.ts';
import type { AnswerMeta, Backend } from '../src/foundation/backend.ts';
import type { DiscoveryEvent } from '../src/foundation/discovery-event.ts';

/** What one question was answered. */
export interface WatchedQuestion {
	readonly answers: (readonly ServiceInstance[])[];
	readonly metas: (AnswerMeta | undefined)[];
	readonly errors: SpockError[];
	used(): void;
	stop(): void;
}

/** A backend with any number of watches. */
export interface WatchedMany extends AsyncDisposable {
	readonly backend: Backend;
	readonly events: DiscoveryEvent[];
	/** How many of them are polled, as was reported last. */
	readonly polled: () => number;
	watch(query: string | ServiceQuery): WatchedQuestion;
}

/** A backend over the given addresses. Retries come at once, because the random number is 0. */
export function watchedMany(addresses: readonly string[], options: ConsulBackendOptions = {}): WatchedMany {
	const events: DiscoveryEvent[] = [];
	const backend = consulBackend({ addresses, random: () => 0, onEvent: (event) => events.push(event), ...options });
	return {
		backend,
		events,
		polled: () => events.findLast((event) => event.type === 'watch-mode')?.polled ?? 0,
		watch: (query) => {
			const told: Omit<WatchedQuestion, 'stop' | 'used'> = { answers: [], metas: [], errors: [] };
			const watch = backend.watch(typeof query === 'string' ? { service: query } : query, {
				answered: (instances, meta) => {
					told.answers.push(instances);
					told.metas.push(meta);
				},
				failed: (error) => told.errors.push(error),
			});
			return { ...told, used: () => watch.used?.(), stop: () => watch.stop() };
		},
		[Symbol.asyncDispose]: () => backend.close(),
	};
}
