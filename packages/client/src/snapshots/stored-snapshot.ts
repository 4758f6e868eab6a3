import {
	isStale,
	knownAgeMs,
	type ServiceSnapshot,
	type SnapshotObserver,
	type SpockError,
	tooOldError,
} from '@spock/protocol';
import { type AgeClock, ageClockOf, type Clock, isFinal } from '@spock/protocol/internal';
import { Waiters } from '../calls/waiters.ts';
import type { ResolvedOptions } from '../foundation/options.ts';

/** The members of every snapshot that show how current it is. */
export type PublishedSnapshot = Pick<
	ServiceSnapshot,
	'revision' | 'source' | 'ageMs' | 'verifiedAt' | 'liveAt' | 'oversize'
>;

/** Something derived from a stored snapshot that lives as long as it, such as a picker. Called before any observer. */
export interface SnapshotFollower<S> {
	changed(snapshot: S, before: S | undefined): void;
	/** The snapshot is no longer stored. */
	ended(): void;
}

/** The current snapshot of one query, its age, and the calls that wait for it or observe it. */
export class StoredSnapshot<Q, S extends PublishedSnapshot> {
	readonly key: string;
	readonly query: Q;
	readonly waiters: Waiters<S>;
	/** Incremented by each sweep, reset by each use: cheaper than reading the clock at every lookup. */
	unusedSweeps = 0;
	follower: SnapshotFollower<S> | undefined = undefined;
	/** True while no source verifies it. */
	isStale = false;
	/** The newest snapshot, with the age that it was published with. */
	current: S | undefined = undefined;
	readonly #clock: Clock;
	readonly #ages: AgeClock;
	readonly #observers = new Set<SnapshotObserver<S>>();
	/** When it was last live, by the age clock. */
	#verifiedAtMs = 0;
	/** When the registry confirmed it at the latest, by the age clock: the wall clock may be set back. */
	#confirmedByMs = Number.NEGATIVE_INFINITY;
	/** Why there is no snapshot, until there is one. */
	#error: SpockError | undefined;

	constructor(key: string, query: Q, { clock, unref }: Pick<ResolvedOptions, 'clock' | 'unref'>) {
		this.key = key;
		this.query = query;
		this.#clock = clock;
		this.#ages = ageClockOf(clock);
		this.waiters = new Waiters(clock, unref);
	}

	/** Why there is no snapshot, as far as a source has reported it; undefined once there is one. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	get isInUse(): boolean {
		return this.#observers.size > 0 || this.waiters.count > 0;
	}

	/** The newest snapshot; its age grows while it is stale. */
	read(): S | undefined {
		const { current } = this;
		return current && this.#aged(current);
	}

	/** How long ago a stale snapshot was verified, in whole milliseconds. */
	get ageMs(): number {
		return Math.max(0, Math.round(this.#ages.now() - this.#verifiedAtMs));
	}

	/** How long ago the registry confirmed it, as far as this process knows; Infinity if unknown. */
	knownAgeMs(): number {
		const { current } = this;
		if (current === undefined) return Number.POSITIVE_INFINITY;
		const ageMs = this.isStale ? this.ageMs : current.ageMs;
		const byWallMs = knownAgeMs({ ageMs, verifiedAt: current.verifiedAt }, this.#clock.wallNow());
		return Math.max(byWallMs, this.#ages.now() - this.#confirmedByMs);
	}

	/** True if there is a snapshot, and the registry confirmed it within `maxAgeMs`. */
	isYoung(maxAgeMs: number | undefined): boolean {
		return this.current !== undefined && (maxAgeMs === undefined || this.knownAgeMs() <= maxAgeMs);
	}

	/** Replaces the snapshot, which was last live at this time of the age clock, and notifies followers, waiting calls and observers. */
	put(snapshot: S, verifiedAtMs: number = this.#ages.now() - this.#ages.ageOfRead(snapshot)): void {
		const before = this.current;
		this.#error = undefined;
		this.current = snapshot;
		this.isStale = isStale(snapshot);
		this.#verifiedAtMs = verifiedAtMs;
		if (before?.verifiedAt !== snapshot.verifiedAt) this.#confirmedByMs = this.#confirmedBy(snapshot);
		this.follower?.changed(snapshot, before);
		const now = this.#aged(snapshot);
		this.waiters.resolveAll(now);
		// An observer may stop others, or add new ones, which are notified when they are added.
		for (const observer of this.#all()) observer.next(now);
	}

	/** Takes the time of verification from an answer with the same revision, which must be from the same process. */
	verify(snapshot: S): void {
		const { current } = this;
		if (current?.revision !== snapshot.revision || current.source !== 'live' || snapshot.source !== 'live') return;
		const verifiedAt = Math.max(current.verifiedAt, snapshot.verifiedAt);
		this.current = Object.freeze({ ...current, verifiedAt });
		if (verifiedAt !== current.verifiedAt) this.#confirmedByMs = this.#confirmedBy(this.current);
	}

	/** Reports why the snapshot cannot be read. A known snapshot remains. */
	fail(error: SpockError): void {
		this.refuse(error);
		this.report(error);
	}

	/** As `fail`, but present observers are not notified. Calls go on waiting, unless the failure is final. */
	refuse(error: SpockError): void {
		if (this.current !== undefined) return;
		this.#error = error;
		if (isFinal(error)) this.waiters.rejectAll(error);
	}

	/** As `fail`, but calls continue to wait. */
	report(error: SpockError): void {
		if (this.current !== undefined) return;
		this.#error = error;
		for (const observer of this.#all()) observer.error?.(error);
	}

	/** Notifies the observer of the known snapshot, and of each change until the returned function is called. */
	observe(observer: SnapshotObserver<S>): () => void {
		// The same object may observe twice.
		const own: SnapshotObserver<S> = {
			next: (snapshot) => observer.next(snapshot),
			error: (error) => observer.error?.(error),
		};
		this.#observers.add(own);
		const known = this.read();
		if (known !== undefined) own.next(known);
		else if (this.#error !== undefined) own.error?.(this.#error);
		return () => this.#observers.delete(own);
	}

	/** The snapshot is no longer stored. */
	end(error: SpockError): void {
		this.#observers.clear();
		this.waiters.rejectAll(error);
		this.follower?.ended();
	}

	/** Of one that is read now. */
	#confirmedBy({ ageMs, verifiedAt }: S): number {
		const knownMs = knownAgeMs({ ageMs, verifiedAt }, this.#clock.wallNow());
		return this.#ages.now() - (Number.isFinite(knownMs) ? knownMs : 0);
	}

	#aged(snapshot: S): S {
		return this.isStale ? Object.freeze({ ...snapshot, ageMs: this.ageMs }) : snapshot;
	}

	*#all(): Iterable<SnapshotObserver<S>> {
		for (const observer of [...this.#observers]) if (this.#observers.has(observer)) yield observer;
	}
}

/** Throws UNAVAILABLE for an answer that is older than the caller accepts. */
export function assertAge(ageMs: number, maxAgeMs: number | undefined, noun: 'service' | 'key', name: string): void {
	if (maxAgeMs !== undefined && ageMs > maxAgeMs) throw tooOldError(noun, name, ageMs, maxAgeMs);
}
