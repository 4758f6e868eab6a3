import { type SnapshotObserver, type SnapshotState, SpockError } from '@spock/protocol';
import { ageClockOf, type Clock, callOut } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../foundation/discovery-event.ts';
import type { AnswerKind } from './answer-kind.ts';

/** What a served snapshot needs of its cache. */
export interface ServedSnapshotContext<Q, V extends readonly unknown[], S extends SnapshotState> {
	readonly kind: AnswerKind<Q, V, S>;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
	/** Returns the next revision: one count for the whole process, so that no entry ever goes back. */
	readonly nextRevision: () => number;
	/** Age past which a stale snapshot is not served any more, in milliseconds. */
	readonly staleMaxMs: number;
}

/** Whether the served value is confirmed, held after an empty answer, or not confirmed. */
export type Standing = 'fresh' | 'held' | 'stale';

interface Served<V, S> {
	readonly value: V;
	/** While the entry is fresh this object stays the same until something changes: readers memoise its bytes by identity. */
	readonly snapshot: S;
	/** When the value or its source last changed, in milliseconds since 1970. */
	readonly changedAt: number;
}

/** The served answer to one query, its age, and its observers. */
export class ServedSnapshot<Q, V extends readonly unknown[], S extends SnapshotState> {
	readonly observers: Set<SnapshotObserver<S>> = new Set();
	readonly #query: Q;
	readonly #context: ServedSnapshotContext<Q, V, S>;
	#served: Served<V, S> | undefined;
	#verifiedAtMs = 0;
	#vouchedAtMs = 0;

	constructor(query: Q, context: ServedSnapshotContext<Q, V, S>) {
		this.#query = query;
		this.#context = context;
	}

	/** The served value; undefined before the first. */
	get value(): V | undefined {
		return this.#served?.value;
	}

	/** True while there is nothing to serve, or an empty list, as for a misspelt or made-up name. */
	get isEmpty(): boolean {
		return (this.value?.length ?? 0) === 0;
	}

	/** 0 before the first. */
	get revision(): number {
		return this.#served?.snapshot.revision ?? 0;
	}

	/** Time since the served value was live, in milliseconds. */
	get ageMs(): number {
		return Math.max(0, ageClockOf(this.#context.clock).now() - this.#vouchedAtMs);
	}

	/** Time since the registry itself confirmed the served value, as far as it is known, in milliseconds. */
	get verifiedAgeMs(): number {
		return Math.max(0, ageClockOf(this.#context.clock).now() - this.#verifiedAtMs);
	}

	/** When the registry itself confirmed the served value, by the age clock. */
	get verifiedAtMs(): number {
		return this.#verifiedAtMs;
	}

	/** When the value or its source last changed, in milliseconds since 1970. */
	get changedAt(): number | null {
		return this.#served?.changedAt ?? null;
	}

	/**
	 * At this time of the age clock the registry confirmed the value that is served or about to be published; another process may have vouched
	 * for it since.
	 */
	verified(atMs: number, vouchedAtMs: number = atMs): void {
		this.#verifiedAtMs = atMs;
		this.#vouchedAtMs = vouchedAtMs;
	}

	/** The snapshot to serve now: the live one, or a copy of the last known one with its age; undefined if neither. */
	read(isLive: boolean): S | undefined {
		const snapshot = this.#served?.snapshot;
		if (snapshot === undefined || isLive) return snapshot;
		const { ageMs } = this;
		const { clock, staleMaxMs } = this.#context;
		return ageMs > staleMaxMs ? undefined : Object.freeze({ ...snapshot, ...agedBy(ageMs, clock) });
	}

	/** As `read`, with the time of the last verification, which is not published while nothing changes. */
	readVerified(isLive: boolean): S | undefined {
		const snapshot = this.read(isLive);
		return snapshot && Object.freeze({ ...snapshot, verifiedAt: this.#verifiedAt() });
	}

	/** UNAVAILABLE, because the last known value is older than the limit. */
	tooOldError(cause: SpockError | undefined): SpockError {
		const { kind, staleMaxMs } = this.#context;
		const name = kind.nameOf(this.#query);
		const ageMs = Math.round(this.ageMs);
		const message = `the last known answer for ${JSON.stringify(name)} is ${ageMs} ms old, over the limit of ${staleMaxMs} ms`;
		return new SpockError('UNAVAILABLE', message, { details: { [kind.noun]: name, ageMs, staleMaxMs }, cause });
	}

	/** Serves this value from now on, and notifies the observers. `isEmptied`: see `SnapshotState.emptied`. */
	publish(value: V, standing: Standing, isEmptied: boolean): void {
		const { clock, kind, onEvent, nextRevision } = this.#context;
		const before = this.#served;
		const isLive = standing === 'fresh';
		const snapshot = kind.makeSnapshot(this.#query, value, {
			revision: nextRevision(),
			source: isLive ? 'live' : 'last-known-good',
			...(isLive ? { ageMs: 0 } : agedBy(this.ageMs, clock)),
			verifiedAt: this.#verifiedAt(),
			...(standing === 'held' && { held: true }),
			...(isEmptied && { emptied: true }),
		});
		const at = clock.wallNow();
		this.#served = { value, snapshot, changedAt: at };
		for (const event of kind.published({ query: this.#query, snapshot, value, before, at })) onEvent(event);
		if (isLive) this.keep();
		this.#notify((observer) => observer.next(snapshot));
	}

	/** Stores the served value and when it was verified in the state directory, which writes what has changed. */
	keep(): void {
		const { kind } = this.#context;
		kind.keep(this.#query, this.value ?? kind.nothing, this.#verifiedAt());
	}

	/** Reports an error while nothing can be served. */
	reportError(error: SpockError): void {
		this.#notify((observer) => observer.error?.(error));
	}

	#notify(notify: (observer: SnapshotObserver<S>) => void): void {
		// A copy, because an observer may stop or start watches while it is notified.
		for (const observer of [...this.observers]) {
			if (this.observers.has(observer)) callOut(() => notify(observer));
		}
	}

	/** In milliseconds since 1970; 0 if unknown. */
	#verifiedAt(): number {
		const { clock } = this.#context;
		const at = Math.round(clock.wallNow() - (ageClockOf(clock).now() - this.#verifiedAtMs));
		return Number.isFinite(at) ? at : 0;
	}
}

/** How old a last known answer is. */
function agedBy(ageMs: number, clock: Clock): Pick<SnapshotState, 'ageMs' | 'liveAt'> {
	return { ageMs, ...(Number.isFinite(ageMs) && { liveAt: Math.floor(clock.wallNow() - ageMs) }) };
}
