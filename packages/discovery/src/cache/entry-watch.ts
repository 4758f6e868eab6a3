import { SpockError } from '@spock/protocol';
import { ageClockOf, type Clock, STANDSTILL_MS } from '@spock/protocol/internal';

import type { AnswerMeta, BackendObserver, BackendWatch } from '../foundation/backend.ts';
import type { DiscoveryListener, WatchedQuery } from '../foundation/discovery-event.ts';

/** An answer of the registry, and when it was true. */
export interface DatedAnswer<V> {
	readonly value: V;
	/** When the registry itself confirmed it, by the age clock. */
	readonly answeredAtMs: number;
	/** When another process vouched for it, by the age clock; otherwise the same. */
	readonly vouchedAtMs: number;
	/** It is from the memory of another process. */
	readonly isUnconfirmed: boolean;
	/** Too late to be called live. */
	readonly isLate: boolean;
	/** Another process has held it back already. */
	readonly isEmptied: boolean;
}

/** What an {@link EntryWatch} needs of its entry. */
export interface EntryWatchOptions<V> {
	readonly clock: Clock;
	/** See `Backend.confirmsAfterStandstill`. */
	readonly confirmsAfterStandstill: boolean | undefined;
	readonly start: (observer: Pick<BackendObserver<V>, 'answered' | 'failed'>) => BackendWatch;
	readonly answered: (answer: DatedAnswer<V>) => void;
	readonly failed: BackendObserver<V>['failed'];
}

/** The watch of one query, which is started anew to query at once; and when what it reports was true. */
export class EntryWatch<V> {
	readonly #options: EntryWatchOptions<V>;
	#watch: BackendWatch | undefined;
	/** By the age clock. */
	#startedAtMs = 0;
	#isStopped = false;

	constructor(options: EntryWatchOptions<V>) {
		this.#options = options;
	}

	/** Starts a watch, which may report before this returns, in place of the one before; that continues if this throws. */
	start(): void {
		const { clock, start, failed } = this.#options;
		const before = this.#watch;
		this.#startedAtMs = ageClockOf(clock).now();
		this.#watch = start({ answered: (value, meta) => this.#answered(value, meta), failed });
		before?.stop();
		// An observer that was notified before this returned may have ended the entry.
		if (this.#isStopped) this.#watch.stop();
	}

	/** Starts one in place of the one before, to query at once; calls `failed`, and goes on with that, if it cannot. */
	restart(failed: (error: SpockError) => void): void {
		try {
			this.start();
		} catch (reason) {
			failed(SpockError.from(reason));
		}
	}

	/** A caller has asked. */
	used(): void {
		this.#watch?.used?.();
	}

	/** Ends a back-off. */
	retry(): void {
		this.#watch?.retry?.();
	}

	stop(): void {
		this.#isStopped = true;
		this.#watch?.stop();
	}

	#answered(value: V, meta: AnswerMeta = { ageMs: 0 }): void {
		const noticedAtMs = ageClockOf(this.#options.clock).now();
		const cameAtMs = this.#cameAtMs();
		const { ageMs, vouchedAgeMs = ageMs, isUnconfirmed = false, isEmptied = false } = meta;
		this.#options.answered({
			value,
			// A backend may have counted that it waited, or part of it.
			answeredAtMs: Math.min(cameAtMs, noticedAtMs - ageMs),
			vouchedAtMs: Math.min(cameAtMs, noticedAtMs - vouchedAgeMs),
			isUnconfirmed,
			isLate: isUnconfirmed || noticedAtMs - cameAtMs >= STANDSTILL_MS,
			isEmptied,
		});
	}

	/** What is reported now was sent at this time of the age clock or later: not before it was asked for. */
	#cameAtMs(): number {
		const { clock, confirmsAfterStandstill } = this.#options;
		const ages = ageClockOf(clock);
		return confirmsAfterStandstill === true ? ages.now() : Math.max(ages.sentAtMs(), this.#startedAtMs);
	}
}

/** What a {@link WatchOutage} needs. */
export interface WatchOutageContext<Q> {
	readonly clock: Clock;
	readonly kind: { describe(query: Q): WatchedQuery };
	readonly onEvent: DiscoveryListener;
}

/** Since when the watch of one query fails; reports the first failure and the first good answer after it. */
export class WatchOutage<Q> {
	readonly #query: Q;
	readonly #context: WatchOutageContext<Q>;
	#sinceMs: number | undefined;

	constructor(query: Q, context: WatchOutageContext<Q>) {
		this.#query = query;
		this.#context = context;
	}

	/** `isServed`: a last known answer is served meanwhile. */
	failed(error: SpockError, isServed: boolean): void {
		if (this.#sinceMs !== undefined) return;
		const { clock, kind, onEvent } = this.#context;
		this.#sinceMs = clock.now();
		onEvent({ type: 'watch-failed', query: kind.describe(this.#query), error, isServed });
	}

	/** The registry has answered. */
	ended(): void {
		if (this.#sinceMs === undefined) return;
		const { clock, kind, onEvent } = this.#context;
		const outageMs = clock.now() - this.#sinceMs;
		onEvent({ type: 'watch-recovered', query: kind.describe(this.#query), outageMs });
		this.#sinceMs = undefined;
	}
}
