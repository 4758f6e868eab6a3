import type { TimerHandle } from '@spock/protocol/internal';

import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import { readAnsweredIndex } from './read-answer.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** The servers' own service: it is always there, and changes only when a server comes or goes. */
const SERVICE = 'consul';
/** Servers install the snapshot one after the other: until then they answer, with an index that is too large. */
const RESTORED_AGAIN_MS = 1000;

/** One blocking query. */
type Fetch<T> = (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>>;

/** The same query, telling where the servers' state was replaced while it was held. */
export function noticeRestores<T>(fetch: Fetch<T>, restored: () => void): Fetch<T> {
	return async (index, signal) => {
		const answer = await fetch(index, signal);
		if (answer.isAbandoned && !signal.aborted) restored();
		return answer;
	};
}

/** What a {@link RestoreWatch} needs. */
export interface RestoreWatchOptions {
	readonly http: ConsulHttp;
	readonly recovery: WatchRecovery;
	readonly parameters: Readonly<Record<string, string>>;
	/** All that is known may be outdated, and no query that is held tells of it. Told twice, a second apart. */
	readonly restored: () => void;
}

/**
 * Notices that the servers were restored from a snapshot. An agent answers a blocking query for the health of a service from a
 * stream, and holds it until its wait is over where the index has gone back. A query of the catalog is held by a server, which
 * abandons it when its state is replaced: one that has hardly another reason to end is held for that.
 */
export class RestoreWatch {
	readonly #options: RestoreWatchOptions;
	readonly #watch: ConsulWatch;
	#timer: TimerHandle | undefined;

	constructor(options: RestoreWatchOptions) {
		this.#options = options;
		const { http, recovery, parameters } = options;
		const fetch = http.blocking<FetchAnswer<true>>({
			parameters,
			send: (client, call) => client.catalog.service.nodes({ ...call, service: SERVICE }),
			read: readAnsweredIndex,
		});
		this.#watch = recovery.start<true>({
			fetch: noticeRestores(fetch, () => this.#restored()),
			isSame: () => true,
			answered: () => undefined,
			failed: () => undefined,
		});
	}

	/** Idempotent; nothing is told after it. */
	stop(): void {
		this.#watch.stop();
		this.#options.http.clock.clearTimeout(this.#timer);
	}

	#restored(): void {
		const { restored, http } = this.#options;
		http.clock.clearTimeout(this.#timer);
		this.#timer = http.clock.setTimeout(restored, RESTORED_AGAIN_MS);
		restored();
	}
}
