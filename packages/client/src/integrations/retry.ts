import { AsyncLocalStorage } from 'node:async_hooks';

import type { ServiceQuery } from '@spock/protocol';
import { integerOption, knownMembers, scopeKey, signalOption } from '@spock/protocol/internal';

import { isConnectionError } from './call-errors.ts';

export const DEFAULT_RETRIES_MAX = 2;

/** Options of {@link retry}. */
export interface RetryOptions {
	/** Most calls after the first. Default 2, 0 to 100. */
	readonly retriesMax?: number;
	/** No more calls once it aborts: what the last one failed with is thrown. Default: none. */
	readonly signal?: AbortSignal;
	/** Whether another call may do better. Default: after errors of the connection, see `isConnectionError`. */
	readonly isRetryable?: (error: unknown) => boolean;
}

const failed = new AsyncLocalStorage<FailedInstances>();

/** The names of instances that failed, for each service: they are unique only within one. */
export class FailedInstances {
	readonly #byService = new Map<string, Set<string>>();

	/** Those of the service that a query is about; what is added to it is remembered. */
	of(query: ServiceQuery): Set<string> {
		const key = scopeKey(query);
		let names = this.#byService.get(key);
		if (names === undefined) {
			names = new Set();
			this.#byService.set(key, names);
		}
		return names;
	}
}

/**
 * Calls until it succeeds, each time through another instance while there is one: what is called finds its instance by one
 * of the integrations. For calls that may be made twice: the caller vouches that they are idempotent. There is no
 * delay: another instance is not asked sooner by waiting. Rejects with what the last call rejected with.
 */
export async function retry<T>(call: (attempt: number) => Promise<T>, options: RetryOptions = {}): Promise<T> {
	knownMembers('option', options, ['retriesMax', 'signal', 'isRetryable']);
	const { retriesMax = DEFAULT_RETRIES_MAX, isRetryable = isConnectionError } = options;
	integerOption('retriesMax', retriesMax, 0, 100);
	const signal = signalOption('signal', options.signal);
	// A `retry` inside of another one knows where that has failed, and the other way round.
	const instances = failed.getStore() ?? new FailedInstances();
	for (let attempt = 0; ; attempt++) {
		try {
			return await failed.run(instances, call, attempt);
		} catch (error) {
			if (attempt >= retriesMax || signal?.aborted === true || !isRetryable(error)) throw error;
		}
	}
}

/**
 * For integrations: the instances of a service that failed in the `retry` that this runs in, to be given to `acquire` as `exclude`, and
 * to be added to when a call failed. Undefined outside of one.
 */
export function failedInstances(query: ServiceQuery): Set<string> | undefined {
	return failed.getStore()?.of(query);
}
