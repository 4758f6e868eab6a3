import type { ServiceInstance, ServiceQuery } from '@spock/protocol';
import { integerOption } from '@spock/protocol/internal';

import type { BackendObserver, BackendWatch } from '../backend.ts';
import { isSameAnswer } from '../snapshot-diff.ts';
import type { FetchAnswer } from '../watch-loop.ts';
import type { ConsulHttp } from './consul-http.ts';
import type { ConsulBackendOptions } from './consul-options.ts';
import { RestoreWatch } from './restore-watch.ts';
import { SharedWatch } from './shared-watch.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** Questions that are watched one by one: each of them holds a connection, of which an agent allows 200. */
export const DEFAULT_SHARED_WATCH_ABOVE = 64;
/** Back to one by one below this share of the threshold, so that a number which sways about it does not change the way. */
const EACH_BELOW = 0.75;

/** One query for instances: blocks while the index is `index`; 0 does not block. */
export type FetchInstances = (index: number, signal: AbortSignal) => Promise<FetchAnswer<readonly ServiceInstance[]>>;

/** What a {@link ServiceWatches} needs. */
export interface ServiceWatchesOptions extends Pick<ConsulBackendOptions, 'random' | 'onEvent' | 'sharedWatchAbove'> {
	readonly http: ConsulHttp;
	readonly recovery: WatchRecovery;
	/** How the instances of a query are fetched. */
	readonly fetch: (query: ServiceQuery) => FetchInstances;
	/** How the index of a query is asked for, and nothing else; undefined where that is no cheaper. */
	readonly probe: (query: ServiceQuery) => ((signal: AbortSignal) => Promise<FetchAnswer<unknown>>) | undefined;
	/** The parameters of what is shared by all questions of a datacenter. */
	readonly shared: (datacenter: string | undefined) => Readonly<Record<string, string>>;
}

interface Watching {
	readonly query: ServiceQuery;
	readonly observer: BackendObserver;
	watch: BackendWatch & Partial<Pick<ConsulWatch, 'reread'>>;
}

/**
 * The watches of one backend: a blocking query for each, or, above a number of them, one shared watch for each datacenter that
 * is asked for. Questions to a peer always have queries of their own: Consul lists no names of a peer.
 */
export class ServiceWatches {
	readonly #options: ServiceWatchesOptions;
	readonly #above: number;
	readonly #all = new Set<Watching>();
	/** By datacenter; none while each question has its own query. */
	readonly #shared = new Map<string, SharedWatch>();
	#mode: 'each' | 'shared' = 'each';
	/** By datacenter. */
	readonly #restores = new Map<string, RestoreWatch>();

	constructor(options: ServiceWatchesOptions) {
		this.#options = options;
		const { sharedWatchAbove = DEFAULT_SHARED_WATCH_ABOVE } = options;
		this.#above = integerOption('sharedWatchAbove', sharedWatchAbove, 1, 100);
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		const watching: Watching = { query, observer, watch: { stop: () => undefined } };
		this.#all.add(watching);
		if (this.#mode === 'each' && this.#all.size > this.#above) this.#turn('shared');
		else this.#start(watching);
		return {
			stop: () => {
				if (!this.#all.delete(watching)) return;
				watching.watch.stop();
				this.#dropUnused();
				if (this.#mode === 'shared' && this.#all.size < this.#above * EACH_BELOW) this.#turn('each');
			},
		};
	}

	/**
	 * An agent has answered from its stream: from now on a restore of the servers is watched for. Not in place of the first
	 * queries, which no stream answers, and not under a shared watch, whose own queries are ended by a restore.
	 */
	watchRestores(datacenter: string | undefined): void {
		const place = datacenter ?? '';
		if (this.#restores.has(place) || this.#mode === 'shared') return;
		const { http, recovery, shared } = this.#options;
		const restored = (): void => {
			for (const { query, watch } of [...this.#all]) if (query.datacenter === datacenter) watch.reread?.();
		};
		this.#restores.set(place, new RestoreWatch({ http, recovery, parameters: shared(datacenter), restored }));
	}

	/** Ends all of them. */
	stop(): void {
		this.#endRestores();
		for (const { watch } of this.#all) watch.stop();
		for (const shared of this.#shared.values()) shared.stop();
		this.#all.clear();
		this.#shared.clear();
	}

	#endRestores(): void {
		for (const restore of this.#restores.values()) restore.stop();
		this.#restores.clear();
	}

	#dropUnused(): void {
		for (const [place, shared] of this.#shared) {
			if (shared.size > 0) continue;
			shared.stop();
			this.#shared.delete(place);
		}
		for (const [place, restore] of this.#restores) {
			if ([...this.#all].some(({ query }) => (query.datacenter ?? '') === place)) continue;
			restore.stop();
			this.#restores.delete(place);
		}
	}

	#turn(mode: 'each' | 'shared'): void {
		this.#mode = mode;
		this.#endRestores();
		this.#options.onEvent?.({ type: 'watch-mode', mode, watches: this.#all.size });
		for (const { watch } of this.#all) watch.stop();
		for (const shared of this.#shared.values()) shared.stop();
		this.#shared.clear();
		for (const watching of this.#all) this.#start(watching);
	}

	#start(watching: Watching): void {
		const { query, observer } = watching;
		const isShared = this.#mode === 'shared' && query.peer === undefined;
		watching.watch = isShared ? this.#share(query, observer) : this.#loop(query, observer);
	}

	#share(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		const { http, recovery, random, fetch, probe, shared } = this.#options;
		const place = query.datacenter ?? '';
		let watch = this.#shared.get(place);
		if (watch === undefined) {
			watch = new SharedWatch({ http, recovery, random, parameters: shared(query.datacenter) });
			this.#shared.set(place, watch);
		}
		return watch.watch({ service: query.service, fetch: fetch(query), probe: probe(query) }, observer);
	}

	#loop(query: ServiceQuery, observer: BackendObserver): ConsulWatch {
		const { recovery, fetch } = this.#options;
		return recovery.start<readonly ServiceInstance[]>({
			fetch: fetch(query),
			isSame: isSameAnswer,
			answered: (instances, meta) => observer.answered(instances, meta),
			failed: (error) => observer.failed(error),
		});
	}
}
