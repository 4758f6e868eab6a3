import type { ServiceInstance, ServiceQuery } from '@spock/protocol';

import type { Backend } from './backend.ts';
import { goodInstances, whileGood } from './good-instances.ts';

/**
 * The instances of a query as a backend knows them now: by its `read`, or by the first answer of a watch. Rejects as that does; never
 * settles when the signal aborts before the first answer of a watch.
 */
export async function readOnce(
	backend: Backend,
	query: ServiceQuery,
	signal: AbortSignal,
): Promise<readonly ServiceInstance[]> {
	if (backend.read !== undefined) return goodInstances(await backend.read(query, { signal }));
	const done = new AbortController();
	const ended = AbortSignal.any([signal, done.signal]);
	return new Promise<readonly ServiceInstance[]>((resolve, reject) => {
		const observer = whileGood(backend.name, { answered: (instances) => resolve(instances), failed: reject });
		const watch = backend.watch(query, observer);
		ended.addEventListener('abort', () => watch.stop(), { once: true });
		if (ended.aborted) watch.stop();
	}).finally(() => done.abort());
}
