import type { ServiceQuery, ServiceSnapshot, ServiceSource, SourceWatch } from '@spock/protocol';

import { closedError } from '../foundation/errors.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import { OneTimer } from '../foundation/timers.ts';
import { type PublishedSnapshot, StoredSnapshot } from './stored-snapshot.ts';

/** Sweeps after which an unused query is removed: the idle time has passed by then. */
const UNUSED_SWEEPS_MAX = 2;

/** Where the snapshots of a store come from. */
export interface SnapshotFeed<Q, S extends PublishedSnapshot> {
	/** Keeps this snapshot current from now on. Its first caller waits for `waitMs`; undefined: for the default. `open` rethrows its errors. */
	start(stored: StoredSnapshot<Q, S>, waitMs?: number): void;
	/** The snapshot is no longer stored. */
	stop(stored: StoredSnapshot<Q, S>): void;
}

/** How a store distinguishes queries. */
export interface QueryIdentity<Q, S> {
	/** Equal for equal queries; a snapshot has the key of its query. */
	keyOf(query: Q | S): string;
	normalise(query: Q): Q;
}

export type StoreOptions = Pick<ResolvedOptions, 'clock' | 'unref' | 'idleSubscriptionMs' | 'subscriptionsMax'>;

/**
 * The current snapshots of a client, one for each query in use: at most `subscriptionsMax`, each until it has been unused for
 * `idleSubscriptionMs`.
 */
export class SnapshotStore<Q, S extends PublishedSnapshot> {
	/** Called after each sweep. */
	swept: () => void = () => undefined;
	readonly #identity: QueryIdentity<Q, S>;
	readonly #feed: SnapshotFeed<Q, S>;
	readonly #options: StoreOptions;
	readonly #stored = new Map<string, StoredSnapshot<Q, S>>();
	readonly #sweepTimer: OneTimer;
	#isClosed = false;

	constructor(identity: QueryIdentity<Q, S>, feed: SnapshotFeed<Q, S>, options: StoreOptions) {
		this.#identity = identity;
		this.#feed = feed;
		this.#options = options;
		this.#sweepTimer = new OneTimer(options.clock, () => this.#sweep());
	}

	get count(): number {
		return this.#stored.size;
	}

	get isClosed(): boolean {
		return this.#isClosed;
	}

	/** The stored snapshot of a query, or of the query of a snapshot; this does not count as a use. */
	find(query: Q | S): StoredSnapshot<Q, S> | undefined {
		return this.#stored.get(this.#identity.keyOf(query));
	}

	/**
	 * The stored snapshot of a query, added if necessary for a caller that waits for `waitMs`; undefined at `subscriptionsMax`. Throws CLOSED
	 * after `close`.
	 */
	open(query: Q, waitMs?: number): StoredSnapshot<Q, S> | undefined {
		if (this.#isClosed) throw closedError();
		const known = this.find(query);
		if (known !== undefined) {
			known.unusedSweeps = 0;
			return known;
		}
		if (this.#stored.size >= this.#options.subscriptionsMax) return undefined;
		const stored = this.unstored(query);
		this.#stored.set(stored.key, stored);
		try {
			this.#feed.start(stored, waitMs);
		} catch (error) {
			this.#stored.delete(stored.key);
			throw error;
		}
		this.#armSweep();
		return stored;
	}

	/** A snapshot for one request over the limit: neither stored nor fed. */
	unstored(query: Q): StoredSnapshot<Q, S> {
		return new StoredSnapshot(this.#identity.keyOf(query), this.#identity.normalise(query), this.#options);
	}

	/** A reader has left: removes the snapshot if nothing else has used it for the idle time. */
	release(stored: StoredSnapshot<Q, S>): void {
		if (stored.isInUse || stored.unusedSweeps <= UNUSED_SWEEPS_MAX) return;
		if (this.#stored.get(stored.key) === stored) this.#remove(stored);
	}

	/** Rejects waiting calls with CLOSED and notifies no observer any more; idempotent. */
	close(): void {
		this.#isClosed = true;
		this.#sweepTimer.cancel();
		for (const stored of [...this.#stored.values()]) this.#remove(stored);
	}

	#remove(stored: StoredSnapshot<Q, S>): void {
		this.#stored.delete(stored.key);
		this.#feed.stop(stored);
		stored.end(closedError());
	}

	#armSweep(): void {
		this.#sweepTimer.arm(Math.ceil(this.#options.idleSubscriptionMs / UNUSED_SWEEPS_MAX));
	}

	#sweep(): void {
		for (const stored of [...this.#stored.values()]) {
			stored.unusedSweeps++;
			this.release(stored);
		}
		this.swept();
		if (this.#stored.size > 0) this.#armSweep();
	}
}

/** Feeds a store from any source of services: one watch for each query. */
export class SourceFeed implements SnapshotFeed<ServiceQuery, ServiceSnapshot> {
	readonly #source: ServiceSource;
	readonly #watches = new Map<string, SourceWatch>();

	constructor(source: ServiceSource) {
		this.#source = source;
	}

	start(stored: StoredSnapshot<ServiceQuery, ServiceSnapshot>): void {
		const watch = this.#source.watch(stored.query, { next: (snapshot) => stored.put(snapshot) });
		this.#watches.set(stored.key, watch);
	}

	stop({ key }: StoredSnapshot<ServiceQuery, ServiceSnapshot>): void {
		this.#watches.get(key)?.stop();
		this.#watches.delete(key);
	}
}
