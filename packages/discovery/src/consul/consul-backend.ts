import type {
	BackendStatus,
	CallOptions,
	KeyEntry,
	KeyQuery,
	ServiceInstance,
	ServiceListEntry,
	ServiceQuery,
} from '@spock/protocol';

import type { Backend, BackendObserver, BackendWatch } from '../backend.ts';
import { isSameAnswer } from '../snapshot-diff.ts';
import { WatchLoop } from '../watch-loop.ts';
import { ConsulHttp } from './consul-http.ts';
import { consulKeyLoop } from './consul-keys.ts';
import type { ConsulBackendOptions } from './consul-options.ts';
import { readAnsweredInstances, readAnsweredServices } from './read-answer.ts';

/**
 * Services from Consul's HTTP API: one blocking query for each watch, over any of the given addresses.
 * Throws a TypeError or RangeError naming the option that is wrong, or an Error if a TLS file cannot be read.
 */
export function consulBackend(options: ConsulBackendOptions = {}): Backend {
	return new ConsulBackend(options);
}

class ConsulBackend implements Backend {
	readonly name = 'consul';
	readonly #options: ConsulBackendOptions;
	readonly #http: ConsulHttp;
	readonly #loops = new Set<WatchLoop<readonly ServiceInstance[]> | WatchLoop<readonly KeyEntry[]>>();

	constructor(options: ConsulBackendOptions) {
		this.#options = options;
		this.#http = options.http ?? new ConsulHttp(options);
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#http.refuseIfClosed();
		const loop = new WatchLoop<readonly ServiceInstance[]>({
			fetch: this.#http.blocking({
				// Asking for all instances and judging health here: `passing=true` would filter after the agent has blocked,
				// and would drop warnings.
				parameters: { ...this.#http.readParameters(query.datacenter), ...(query.tags && { tag: query.tags }) },
				send: (client, common) => client.health.service({ ...common, service: query.service }),
				read: readAnsweredInstances,
			}),
			isSame: isSameAnswer,
			answered: (instances) => observer.answered(instances),
			failed: (error) => observer.failed(error),
			clock: this.#http.clock,
			...(this.#options.random && { random: this.#options.random }),
		});
		return this.#run(loop);
	}

	watchKey(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		this.#http.refuseIfClosed();
		return this.#run(consulKeyLoop(this.#http, query, observer, this.#options.random));
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
		for (const loop of this.#loops) loop.stop();
		this.#loops.clear();
		// A connection that was given is its giver's to close.
		if (this.#options.http === undefined) await this.#http.close();
	}

	#run(loop: WatchLoop<readonly ServiceInstance[]> | WatchLoop<readonly KeyEntry[]>): BackendWatch {
		this.#loops.add(loop);
		loop.start();
		return {
			stop: () => {
				loop.stop();
				this.#loops.delete(loop);
			},
		};
	}
}
