import type { KeyEntry, KeyQuery, SpockError } from '@spock/protocol';
import type { FakeConsul } from '@spock/testkit';

import { consulBackend } from '../src/backends/consul/consul-backend.ts';
import type { ConsulBackendOptions } from '../src/backends/consul/consul-backend-options.ts';
import type { Backend } from '../src/foundation/backend.ts';

/** A backend that watches one key, and what it told: `key=value` for each entry of an answer. */
export interface WatchedKeys extends AsyncDisposable {
	readonly backend: Backend;
	readonly answers: string[];
	readonly entries: (readonly KeyEntry[])[];
	readonly errors: SpockError[];
}

/** Watches a key over fake Consuls. Retries come at once, because the random number is 0. */
export function watchedKeys(
	fakes: readonly FakeConsul[],
	query: KeyQuery,
	options: ConsulBackendOptions = {},
): WatchedKeys {
	const backend = consulBackend({ addresses: fakes.map(({ url }) => url), random: () => 0, ...options });
	const answers: string[] = [];
	const entries: (readonly KeyEntry[])[] = [];
	const errors: SpockError[] = [];
	backend.watchKey?.(query, {
		answered: (answer) => {
			entries.push(answer);
			answers.push(answer.map(({ key, value }) => `${key}=${value}`).join(' '));
		},
		failed: (error) => errors.push(error),
	});
	return { backend, answers, entries, errors, [Symbol.asyncDispose]: () => backend.close() };
}
