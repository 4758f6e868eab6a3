import type {
	BackendStatus,
	CallOptions,
	KeyEntry,
	KeyQuery,
	ServiceInstance,
	ServiceListEntry,
	ServiceQuery,
} from '@spock/protocol';
import { booleanOption, oneOfOption, stringOption } from '@spock/protocol/internal';

import type { Backend, BackendObserver, BackendWatch } from '../backend.ts';
import type { FetchAnswer } from '../watch-loop.ts';
import { refuseIfDenied } from './acl-check.ts';
import { ConsulHttp } from './consul-http.ts';
import { watchConsulKey } from './consul-keys.ts';
import { refuseUnaskable } from './consul-name.ts';
import type { ConsulBackendOptions } from './consul-options.ts';
import type { ConsulQuestion } from './consul-question.ts';
import { ConsulRegistrar } from './consul-registrar.ts';
import { taggedAddresses } from './health-entry.ts';
import { type InstancesAnswer, readAnsweredIndex, readAnsweredInstances, readAnsweredServices } from './read-answer.ts';
import { metaFilter } from './service-filter.ts';
import { type FetchInstances, ServiceWatches } from './service-watches.ts';
import { type ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** A filter that nothing passes: no instance is without an id. */
const NOTHING = 'Service.ID == ""';

/**
 * Services from Consul's HTTP API, over any of the given addresses: a blocking query for each question, or one shared watch where
 * there are many. Throws a TypeError or RangeError naming the option that is wrong, or an Error if a TLS file cannot be read.
 */
export function consulBackend(options: ConsulBackendOptions = {}): Backend {
	return new ConsulBackend(options);
}

class ConsulBackend implements Backend {
	readonly name = 'consul';
	readonly registrar: ConsulRegistrar;
	readonly #options: ConsulBackendOptions;
	readonly #http: ConsulHttp;
	readonly #watches: ServiceWatches;
	readonly #recovery: WatchRecovery;
	readonly #keyWatches = new Set<ConsulWatch>();
	readonly #endReplacements: () => void;

	constructor(options: ConsulBackendOptions) {
		const { cached = false, near, taggedAddress, consistency } = options;
		if (booleanOption('cached', cached) && consistency === 'consistent') {
			throw new TypeError('cached cannot be combined with the consistency consistent: Consul refuses it');
		}
		if (near !== undefined) stringOption('near', near);
		if (taggedAddress !== undefined) oneOfOption('taggedAddress', taggedAddress, taggedAddresses);
		this.#options = options;
		this.#http = options.http ?? new ConsulHttp(options);
		this.registrar = new ConsulRegistrar(this.#http);
		this.#recovery = new WatchRecovery(this.#http.clock, options.random, () => this.#http.forgetFailure());
		this.#endReplacements = this.#http.onTokenReplaced(() => this.#recovery.retry());
		this.#watches = new ServiceWatches({
			...options,
			http: this.#http,
			recovery: this.#recovery,
			fetch: (query) => this.#fetchOf(query),
			probe: (query) => this.#probeOf(query),
			shared: (datacenter) => this.#http.readParameters(datacenter),
		});
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#http.refuseIfClosed();
		return this.#watches.watch(query, observer);
	}

	watchKey(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		this.#http.refuseIfClosed();
		const watch = watchConsulKey(this.#http, this.#recovery, query, observer);
		this.#keyWatches.add(watch);
		return {
			stop: () => {
				watch.stop();
				this.#keyWatches.delete(watch);
			},
		};
	}

	async list(query: { readonly datacenter?: string }, options: CallOptions = {}): Promise<readonly ServiceListEntry[]> {
		this.#http.refuseIfClosed();
		return this.#http.call(
			{
				parameters: this.#http.readParameters(query.datacenter),
				send: (client, common) => client.catalog.service.list(common),
				read: readAnsweredServices,
			},
			options,
		);
	}

	/** A question that Consul refuses, such as one for a datacenter that is not there, makes it not `down` while it answers others. */
	status(): BackendStatus {
		const status = this.#http.status();
		return status.state === 'down' && this.#recovery.isSomeWell ? { ...status, state: 'up', error: null } : status;
	}

	async close(): Promise<void> {
		this.#watches.stop();
		for (const watch of this.#keyWatches) watch.stop();
		this.#keyWatches.clear();
		this.#endReplacements();
		// A connection that was given is its giver's to close.
		if (this.#options.http === undefined) await this.#http.close();
	}

	/** An empty answer is asked about once, where Consul would not say that it is a denial. */
	#fetchOf(query: ServiceQuery): FetchInstances {
		const fetch = this.#http.blocking(this.#healthOf(query));
		let before: readonly ServiceInstance[] = [];
		let isKnownEmpty = false;
		return async (index, signal) => {
			refuseUnaskable('service', query.service);
			const answer = (await fetch(index, signal)) as InstancesAnswer;
			if (answer.mayBeDenied && !isKnownEmpty) await refuseIfDenied(this.#http, query, before, signal);
			if (answer.isStreamed) this.#watches.watchRestores(query.datacenter);
			before = answer.value;
			isKnownEmpty = before.length === 0;
			return answer;
		};
	}

	/**
	 * The index of a service's answer without its instances: no tag, filter or place has a part in it. Not of an agent's cache, which
	 * would keep another answer for it.
	 * Source: https://github.com/hashicorp/consul/blob/v1.20.2/agent/consul/state/catalog.go (maxIndexForService)
	 */
	#probeOf({ service, datacenter }: ServiceQuery): ((signal: AbortSignal) => Promise<FetchAnswer<true>>) | undefined {
		if (this.#options.cached) return undefined;
		const question: ConsulQuestion<FetchAnswer<true>> = {
			parameters: { ...this.#http.readParameters(datacenter), filter: NOTHING },
			send: (client, common) => client.health.service({ ...common, service }),
			read: readAnsweredIndex,
		};
		return (signal) => this.#http.call(question, { signal });
	}

	/** Asks for all instances, judging health here: `passing=true` filters after the agent has blocked, and drops warnings. */
	#healthOf(query: ServiceQuery): ConsulQuestion<InstancesAnswer> {
		const { service, tags, datacenter, meta, peer } = query;
		const { cached = false, near, taggedAddress } = this.#options;
		return {
			parameters: {
				...this.#http.readParameters(datacenter),
				...(tags && { tag: tags }),
				...(meta && { filter: metaFilter(meta) }),
				...(peer && { peer }),
				...(cached && { cached: '' }),
				...(near && { near }),
			},
			send: (client, common) => client.health.service({ ...common, service }),
			read: (response, body) => readAnsweredInstances(response, body, taggedAddress),
		};
	}
}
