import type { Clock, TimerHandle } from '@spock/protocol/internal';

import { type FetchAnswer, WatchLoop } from '../../../watch/watch-loop.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import { readAnsweredIndex } from './read-answer.ts';

/** The servers' own service: it is always there, and changes only when a server comes or goes. */
const SERVICE = 'consul';
/** Servers install the snapshot one after the other: until then they answer, with an index that is too large. */
const RESTORED_AGAIN_MS = 1000;
/** While the query that notices them fails, an answer to another one lets it try again, this seldom. */
const RETRY_MS_MIN = 1000;

/** One blocking query. */
type Fetch<T> = (index: number, signal: AbortSignal) => Promise<FetchAnswer<T>>;

/** The same query; `restored` is called where the servers' state was replaced while it was held. */
export function noticeRestores<T>(fetch: Fetch<T>, restored: () => void): Fetch<T> {
	return async (index, signal) => {
		const answer = await fetch(index, signal);
		if (answer.isAbandoned && !signal.aborted) restored();
		return answer;
	};
}

/** A watch whose query may sleep through a restore. */
export interface Rereadable {
	/** Asks again without an index. */
	reread(): void;
}

/**
 * Notices that the servers of a datacenter were restored from a snapshot. An agent answers a blocking query for the health of a service
 * from a stream, and holds it until its wait is over where the index has gone back; the first such query does not show yet that it will be
 * answered so. A query of the catalog is held by a server, which abandons it when its state is replaced: one that has hardly another
 * reason to end is held in each datacenter as long as another query is.
 */
export class RestoreWatches {
	readonly #http: ConsulHttp;
	/** By datacenter. */
	readonly #all = new Map<string, RestoreWatch>();

	constructor(http: ConsulHttp) {
		this.#http = http;
	}

	/**
	 * Call before each query of `watch`: from the first one that may be held on, `watch` is read again after a restore. Not before, because
	 * lookups wait for the first queries. Twice, a second apart, because servers are not restored at once.
	 */
	asks(datacenter: string | undefined, watch: Rereadable, index: number): void {
		const place = this.#placeOf(datacenter);
		let restores = this.#all.get(place);
		if (index === 0) {
			restores?.isRead(watch);
			return;
		}
		if (restores === undefined) {
			restores = new RestoreWatch(this.#http, this.#http.readParameters(datacenter));
			this.#all.set(place, restores);
		}
		restores.add(watch);
	}

	/** Idempotent; `watch` is not read again after it. */
	leave(datacenter: string | undefined, watch: Rereadable): void {
		const place = this.#placeOf(datacenter);
		const restores = this.#all.get(place);
		if (restores === undefined || restores.remove(watch) > 0) return;
		restores.stop();
		this.#all.delete(place);
	}

	/** '' for the agent's own. */
	#placeOf(datacenter: string | undefined): string {
		return this.#http.readParameters(datacenter)['dc'] ?? '';
	}
}

class RestoreWatch {
	readonly #clock: Clock;
	readonly #loop: WatchLoop<true>;
	readonly #watches = new Set<Rereadable>();
	/** What may have slept through a restore while this query failed; undefined while it does not. */
	#doubtful: Set<Rereadable> | undefined;
	#retriedAtMs = Number.NEGATIVE_INFINITY;
	#timer: TimerHandle | undefined;

	constructor(http: ConsulHttp, parameters: Readonly<Record<string, string>>) {
		const { clock } = http;
		this.#clock = clock;
		const fetch = http.blocking<FetchAnswer<true>>({
			parameters,
			send: (client, call) => client.catalog.service.nodes({ ...call, service: SERVICE }),
			read: readAnsweredIndex,
		});
		this.#loop = new WatchLoop<true>({
			fetch: noticeRestores(fetch, () => this.#restored(this.#watches)),
			isSame: () => true,
			answered: () => {
				const doubtful = this.#doubtful;
				this.#doubtful = undefined;
				if (doubtful !== undefined) this.#restored(doubtful);
			},
			// The watches report that Consul is away; this one goes on with the first of them that is answered.
			failed: () => {
				this.#doubtful ??= new Set(this.#watches);
			},
			clock,
		});
		this.#loop.start();
	}

	add(watch: Rereadable): void {
		this.#watches.add(watch);
		const nowMs = this.#clock.now();
		if (this.#doubtful === undefined || nowMs - this.#retriedAtMs < RETRY_MS_MIN) return;
		this.#retriedAtMs = nowMs;
		this.#loop.retry();
	}

	isRead(watch: Rereadable): void {
		this.#doubtful?.delete(watch);
	}

	/** How many are left. */
	remove(watch: Rereadable): number {
		this.#doubtful?.delete(watch);
		this.#watches.delete(watch);
		return this.#watches.size;
	}

	stop(): void {
		this.#loop.stop();
		this.#clock.clearTimeout(this.#timer);
	}

	#restored(outdated: ReadonlySet<Rereadable>): void {
		const reread = (): void => {
			for (const watch of [...outdated]) if (this.#watches.has(watch)) watch.reread();
		};
		this.#clock.clearTimeout(this.#timer);
		if (outdated.size > 0) this.#timer = this.#clock.setTimeout(reread, RESTORED_AGAIN_MS);
		reread();
	}
}
