import type { ServiceInstance, ServiceQuery } from '@spock/protocol';
import { integerOption, type TimerHandle } from '@spock/protocol/internal';

import type { AnswerMeta, BackendObserver, BackendWatch } from '../../../foundation/backend.ts';
import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';
import { isSameAnswer } from '../../../foundation/snapshot-diff.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import type { HeldPlace } from '../http/held-room.ts';
import { type PolledService, PolledServices } from './polled-services.ts';
import { QueryBudget } from './query-budget.ts';
import type { RestoreWatches } from './restore-watch.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** Queries a minute for all services together that are polled. */
export const DEFAULT_POLLS_PER_MINUTE_MAX = 3000;
/** How often it is looked for room, while there are services that have none. */
const LOOK_MS = 1000;
/** So many get a query of their own at a look: each asks twice for that. */
const MOVES_MAX = 32;
/** A question that is asked takes the place of one that was not for so long. */
const UNUSED_MS = 60_000;

/** One query for instances: blocks while the index is `index`; 0 does not block. */
export type FetchInstances = (index: number, signal: AbortSignal) => Promise<FetchAnswer<readonly ServiceInstance[]>>;

/** What a {@link ServiceWatches} needs. */
export interface ServiceWatchesOptions {
	readonly http: ConsulHttp;
	readonly onEvent?: DiscoveryListener;
	/** Default {@link DEFAULT_POLLS_PER_MINUTE_MAX}. */
	readonly pollsPerMinuteMax?: number;
	readonly recovery: WatchRecovery;
	readonly restores: RestoreWatches;
	/** How the instances of a query are fetched, and held at the place that it has then. */
	readonly fetch: (query: ServiceQuery, place: () => HeldPlace | undefined) => FetchInstances;
	/** The parameters of queries that are for no service, in a datacenter. */
	readonly parameters: (datacenter: string | undefined) => Readonly<Record<string, string>>;
}

/** How a question is asked: by a query that is held for it, or as one of those that are polled. */
type Way =
	| { readonly type: 'none' }
	| { readonly type: 'held'; readonly place: HeldPlace }
	| { readonly type: 'polled'; readonly service: PolledService };

interface Watching {
	readonly query: ServiceQuery;
	readonly observer: BackendObserver;
	readonly fetch: FetchInstances;
	way: Way;
	loop: ConsulWatch | undefined;
	usedAtMs: number;
	/** The last answer; undefined while it fails, or before there is one. */
	instances: readonly ServiceInstance[] | undefined;
}

/**
 * The watches of one backend. A query is held for each as long as Consul has room for them; the rest, those that were asked for
 * longest ago, are polled.
 */
export class ServiceWatches {
	readonly #options: ServiceWatchesOptions;
	readonly #budget: QueryBudget;
	readonly #all = new Set<Watching>();
	/** Those of them for which a query is held: a new question looks at these, and not at all. */
	readonly #held = new Set<Watching>();
	readonly #polling = new Set<Watching>();
	/** By datacenter. */
	readonly #polled = new Map<string, PolledServices>();
	readonly #endListening: () => void;
	#mode: 'each' | 'polled' = 'each';
	#timer: TimerHandle | undefined;

	constructor(options: ServiceWatchesOptions) {
		this.#options = options;
		const { pollsPerMinuteMax = DEFAULT_POLLS_PER_MINUTE_MAX, http } = options;
		const perMinuteMax = integerOption('pollsPerMinuteMax', pollsPerMinuteMax, 2, 1_000_000);
		this.#budget = new QueryBudget(http.clock, perMinuteMax);
		const endings = [http.onLessRoom(() => this.#giveUp()), http.onMoreRoom(() => this.#giveRoom(this.#polling.size))];
		this.#endListening = () => {
			for (const end of endings) end();
		};
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		const watching = this.#add(query, observer);
		watching.loop = this.#options.recovery.start<readonly ServiceInstance[]>({
			fetch: (index, signal) => {
				const { way, fetch, loop } = watching;
				if (way.type === 'polled') return way.service.fetch(index, signal);
				if (loop !== undefined) this.#options.restores.asks(query.datacenter, loop, index);
				return fetch(index, signal);
			},
			isSame: isSameAnswer,
			answered: (instances, meta) => {
				watching.instances = instances;
				// The address failed, and the one that answered had no room: from the next query on it is polled.
				if (watching.way.type === 'held' && watching.way.place.number === undefined) this.#poll(watching);
				observer.answered(instances, meta);
			},
			failed: (error) => {
				watching.instances = undefined;
				observer.failed(error);
			},
		});
		return {
			used: () => this.#used(watching),
			retry: () => watching.loop?.retry(),
			stop: () => {
				if (!this.#all.delete(watching)) return;
				watching.loop?.stop();
				this.#leave(watching);
				this.#dropUnused();
				this.#giveRoom(1);
			},
		};
	}

	/** Ends all of them. */
	stop(): void {
		this.#endListening();
		this.#options.http.clock.clearTimeout(this.#timer);
		for (const watching of this.#all) {
			watching.loop?.stop();
			this.#leave(watching);
		}
		for (const polled of this.#polled.values()) polled.stop();
		for (const one of [this.#all, this.#polled]) one.clear();
	}

	#add(query: ServiceQuery, observer: BackendObserver): Watching {
		const { http } = this.#options;
		const nowMs = http.clock.now();
		const place = http.takePlace() ?? this.#takeFromUnused();
		const watching: Watching = {
			query,
			observer,
			fetch: this.#options.fetch(query, () => (watching.way.type === 'held' ? watching.way.place : undefined)),
			way: { type: 'none' },
			loop: undefined,
			usedAtMs: nowMs,
			instances: undefined,
		};
		this.#all.add(watching);
		if (place === undefined) this.#poll(watching);
		else this.#holdAt(watching, place);
		return watching;
	}

	#used(watching: Watching): void {
		watching.usedAtMs = this.#options.http.clock.now();
		if (watching.way.type === 'held' || !this.#all.has(watching)) return;
		const place = this.#options.http.takePlace() ?? this.#takeFromUnused();
		if (place !== undefined) this.#hold(watching, place);
	}

	/** The place of the question that was asked for longest ago, if that is long ago. */
	#takeFromUnused(): HeldPlace | undefined {
		const oldest = first(this.#held, (one, other) => one.usedAtMs < other.usedAtMs);
		if (oldest === undefined || this.#options.http.clock.now() - oldest.usedAtMs < UNUSED_MS) return undefined;
		this.#poll(oldest);
		oldest.loop?.reread();
		return this.#options.http.takePlace();
	}

	#hold(watching: Watching, place: HeldPlace): void {
		this.#leave(watching);
		this.#holdAt(watching, place);
		watching.loop?.reread();
		this.#dropUnused();
	}

	#holdAt(watching: Watching, place: HeldPlace): void {
		watching.way = { type: 'held', place };
		this.#held.add(watching);
	}

	/** Its query is not held any more. Where one is on its way it has to be ended by the caller. */
	#poll(watching: Watching): void {
		this.#leave(watching);
		watching.way = this.#wayOfPolled(watching);
		this.#polling.add(watching);
	}

	#leave(watching: Watching): void {
		const { way, loop, query } = watching;
		if (loop !== undefined) this.#options.restores.leave(query.datacenter, loop);
		this.#held.delete(watching);
		this.#polling.delete(watching);
		if (way.type === 'held') way.place.release();
		if (way.type === 'polled') way.service.leave();
	}

	#wayOfPolled(watching: Watching): Way {
		const { query, observer, fetch } = watching;
		this.#arm();
		const confirmed = (meta: AnswerMeta): void => {
			if (watching.instances !== undefined) observer.answered(watching.instances, meta);
		};
		const endIfUnread = (): boolean => observer.endIfUnread?.() ?? false;
		const isInCatalog = query.peer === undefined;
		const source = { isInCatalog, fetch, known: () => watching.instances, endIfUnread, confirmed };
		return { type: 'polled', service: this.#polledOf(query.datacenter).join(source) };
	}

	#polledOf(datacenter: string | undefined): PolledServices {
		const known = this.#polled.get(datacenter ?? '');
		if (known !== undefined) return known;
		const { http, recovery, parameters } = this.#options;
		const polled = new PolledServices({ http, recovery, parameters: parameters(datacenter), budget: this.#budget });
		this.#polled.set(datacenter ?? '', polled);
		return polled;
	}

	#dropUnused(): void {
		for (const [place, polled] of this.#polled) {
			if (polled.size > 0) continue;
			polled.stop();
			this.#polled.delete(place);
		}
	}

	/** While some are polled, it is looked each second whether there is room for them, and always whether there is too little. */
	#arm(): void {
		if (this.#timer !== undefined) return;
		this.#timer = this.#options.http.clock.setTimeout(() => {
			this.#timer = undefined;
			this.#giveRoom(MOVES_MAX);
			this.#reportMode();
			if (this.#polled.size > 0) this.#arm();
		}, LOOK_MS);
	}

	/** There is room for fewer: those that were asked for longest ago are polled from now on, until there is room again. */
	#giveUp(): void {
		const { http } = this.#options;
		const held = [...this.#held].sort((one, other) => one.usedAtMs - other.usedAtMs);
		for (const watching of held) {
			const { way, loop } = watching;
			if (way.type !== 'held' || !http.isOver(way.place)) continue;
			this.#poll(watching);
			loop?.reread();
		}
	}

	#giveRoom(movesMax: number): void {
		for (let moves = 0; moves < movesMax; moves++) {
			// Whether there is room is known at once; which is the latest takes a look at all that are polled.
			const place = this.#polling.size > 0 ? this.#options.http.takePlace() : undefined;
			if (place === undefined) return;
			const latest = first(this.#polling, (one, other) => one.usedAtMs > other.usedAtMs);
			if (latest !== undefined) this.#hold(latest, place);
		}
	}

	#reportMode(): void {
		const polled = this.#polling.size;
		const mode = polled > 0 ? 'polled' : 'each';
		// While no address is well, or those that came back are not given room yet, they are not too many.
		if (mode === this.#mode || (mode === 'polled' && !this.#options.http.isFull)) return;
		this.#mode = mode;
		this.#options.onEvent?.({ type: 'watch-mode', mode, watches: this.#all.size, polled });
	}
}

function first(all: Iterable<Watching>, isBefore: (one: Watching, other: Watching) => boolean): Watching | undefined {
	let found: Watching | undefined;
	for (const one of all) if (found === undefined || isBefore(one, found)) found = one;
	return found;
}
