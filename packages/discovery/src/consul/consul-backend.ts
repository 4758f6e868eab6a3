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
import type { WatchLoop } from '../watch-loop.ts';
import { refuseIfDenied } from './acl-check.ts';
import { ConsulHttp } from './consul-http.ts';
import { consulKeyLoop } from './consul-keys.ts';
import { refuseUnaskable } from './consul-name.ts';
import type { ConsulBackendOptions } from './consul-options.ts';
import type { ConsulQuestion } from './consul-question.ts';
import { ConsulRegistrar } from './consul-registrar.ts';
import { taggedAddresses } from './health-entry.ts';
import { type InstancesAnswer, readAnsweredInstances, readAnsweredServices } from './read-answer.ts';
import { metaFilter } from './service-filter.ts';
import { type FetchInstances, ServiceWatches } from './service-watches.ts';

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
	readonly #keyLoops = new Set<WatchLoop<readonly KeyEntry[]>>();

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
		this.#watches = new ServiceWatches({
			...options,
			http: this.#http,
			fetch: (query) => this.#fetchOf(query),
			shared: (datacenter) => this.#http.readParameters(datacenter),
		});
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#http.refuseIfClosed();
		return this.#watches.watch(query, observer);
	}

	watchKey(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		this.#http.refuseIfClosed();
		const loop = consulKeyLoop(this.#http, query, observer, this.#options.random);
		this.#keyLoops.add(loop);
		loop.start();
		return {
			stop: () => {
				loop.stop();
				this.#keyLoops.delete(loop);
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

	status(): BackendStatus {
		return this.#http.status();
	}

	async close(): Promise<void> {
		this.#watches.stop();
		for (const loop of this.#keyLoops) loop.stop();
		this.#keyLoops.clear();
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
			before = answer.value;
			isKnownEmpty = before.length === 0;
			return answer;
		};
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
