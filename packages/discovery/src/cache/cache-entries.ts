import { type AskedBy, type SnapshotState, SpockError } from '@spock/protocol';
import { ageClockOf, inNeutralContext, type TimerHandle } from '@spock/protocol/internal';

import { CacheEntry, type CacheEntryContext } from './cache-entry.ts';

/** Entries of unknown services are evicted sooner, because made-up names are queried once. */
const EMPTY_IDLE_TTL_MS = 5000;
/** Share of a limit that is evicted at once, because choosing the entries requires a look at all of them. */
const ROOM_SHARE = 1 / 16;

/** What a query takes without an answer, and each character of its key, by the growth of a sidecar that 2,500 long ones were asked of. */
const QUERY_BYTES = 2000;
const BYTES_PER_CHARACTER = 10;

type Asker = AskedBy['asker'];

/** What {@link CacheEntries} need; all resolved. */
export interface CacheEntriesOptions<Q, V extends readonly unknown[], S extends SnapshotState>
	extends Omit<CacheEntryContext<Q, V, S>, 'nextRevision' | 'endIfUnread' | 'published'> {
	readonly idleTtlMs: number;
	readonly entriesMax: number;
	/** Most entries that serve one asker alone. */
	readonly entriesPerClientMax: number;
	/** About how much memory all answers may take before there is no room for a further query. */
	readonly bytesMax: number;
	/** The same, of what serves one asker alone. */
	readonly bytesPerClientMax: number;
}

/** What entries use of the limits. */
interface Use {
	count: number;
	bytes: number;
}

/** The entries of a cache: their limits, which one makes room for another, and which has been idle for too long. */
export class CacheEntries<Q, V extends readonly unknown[], S extends SnapshotState> {
	readonly #options: CacheEntriesOptions<Q, V, S>;
	readonly #context: CacheEntryContext<Q, V, S>;
	readonly #entries = new Map<string, CacheEntry<Q, V, S>>();
	/** Entries that serve one asker alone. */
	readonly #shares = new Map<Asker, Use>();
	#bytes = 0;
	/** The entry whose watch is being started: its caller is not among its readers yet. */
	#opening: CacheEntry<Q, V, S> | undefined;
	#revision = 0;
	#sweepTimer: TimerHandle | undefined;
	#closed = false;
	/** While there are entries. */
	#endListening: (() => void) | undefined;

	constructor(options: CacheEntriesOptions<Q, V, S>) {
		this.#options = options;
		this.#context = {
			...options,
			nextRevision: () => ++this.#revision,
			endIfUnread: (query) => this.#endIfUnread(query),
			published: (entry) => this.#weigh(entry),
		};
	}

	/** All of them. */
	values(): Iterable<CacheEntry<Q, V, S>> {
		return this.#entries.values();
	}

	/** The entry of a query; undefined without one. Does not count as a use of it. */
	find(query: Q): CacheEntry<Q, V, S> | undefined {
		return this.#entries.get(this.#options.kind.keyOf(query));
	}

	/** The entry of a query, which counts as a use of it; opened if there is none. Throws CLOSED, and OVERLOADED at a limit. */
	open(query: Q, asker: Asker): CacheEntry<Q, V, S> {
		if (this.#closed) throw new SpockError('CLOSED', 'the source of services was closed');
		const { kind } = this.#options;
		const key = kind.keyOf(query);
		const known = this.#entries.get(key);
		if (known !== undefined) {
			known.used();
			if (known.asker !== asker) this.#count(known, undefined);
			return known;
		}
		this.#makeRoom(asker);
		const entry = new CacheEntry(kind.normalise(query), this.#context);
		this.#entries.set(key, entry);
		this.#listenIfInUse();
		this.#count(entry, asker);
		this.#weigh(entry);
		this.#armSweep();
		this.#opening = entry;
		try {
			// The entry outlives the caller that starts it.
			inNeutralContext(() => entry.open());
		} catch (error) {
			// Without a watch, its readers would wait for an answer that cannot come.
			this.#evict(key, entry);
			throw SpockError.from(error);
		} finally {
			this.#opening = undefined;
		}
		return entry;
	}

	/** Ends every watch and rejects waiting callers with CLOSED; idempotent. */
	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#options.clock.clearTimeout(this.#sweepTimer);
		for (const entry of this.#entries.values()) entry.close();
		this.#entries.clear();
		this.#listenIfInUse();
		this.#shares.clear();
		this.#bytes = 0;
	}

	/** Counts an entry against the share of this asker alone. */
	#count(entry: CacheEntry<Q, V, S>, asker: Asker): void {
		const before = entry.asker;
		entry.asker = asker;
		const left = before === undefined ? undefined : this.#shares.get(before);
		if (left !== undefined) {
			left.count--;
			left.bytes -= entry.bytes;
			if (left.count === 0) this.#shares.delete(before);
		}
		if (asker === undefined) return;
		const share = this.#shares.get(asker) ?? { count: 0, bytes: 0 };
		share.count++;
		share.bytes += entry.bytes;
		this.#shares.set(asker, share);
	}

	/** Counts the bytes of an entry, which may be others than before. */
	#weigh(entry: CacheEntry<Q, V, S>): void {
		const { kind } = this.#options;
		const { value = kind.nothing } = entry.served;
		const bytes = QUERY_BYTES + kind.keyOf(entry.query).length * BYTES_PER_CHARACTER + kind.bytesOf(value);
		const share = entry.asker === undefined ? undefined : this.#shares.get(entry.asker);
		if (share !== undefined) share.bytes += bytes - entry.bytes;
		this.#bytes += bytes - entry.bytes;
		entry.bytes = bytes;
	}

	/** Makes room for one more entry. Throws OVERLOADED if all have readers. */
	#makeRoom(asker: Asker): void {
		const { entriesMax, entriesPerClientMax, bytesMax, bytesPerClientMax, kind } = this.#options;
		const ofShare = (): Use => this.#shares.get(asker) ?? { count: 0, bytes: 0 };
		if (asker !== undefined) {
			this.#evictIdle(ofShare, { count: entriesPerClientMax, bytes: bytesPerClientMax }, asker);
			if (ofShare().count >= entriesPerClientMax) {
				const message = `this client watches ${entriesPerClientMax} different ${kind.noun}s, which is the limit of one client`;
				throw new SpockError('OVERLOADED', message, { details: { entriesPerClientMax } });
			}
			if (ofShare().bytes >= bytesPerClientMax) {
				const message = `the ${kind.noun}s that this client watches take about ${megabytes(ofShare().bytes)} MB, which is more than its share`;
				throw new SpockError('OVERLOADED', message, { details: { bytesMax } });
			}
		}
		const ofAll = (): Use => ({ count: this.#entries.size, bytes: this.#bytes });
		this.#evictIdle(ofAll, { count: entriesMax, bytes: bytesMax }, undefined);
		if (ofAll().count >= entriesMax) {
			throw new SpockError('OVERLOADED', `${entriesMax} different ${kind.noun}s are watched, which is the limit`, {
				details: { entriesMax },
			});
		}
		if (ofAll().bytes >= bytesMax) {
			const message = `the ${kind.noun}s that are watched take about ${megabytes(this.#bytes)} MB, and there is room for ${megabytes(bytesMax)}`;
			throw new SpockError('OVERLOADED', message, { details: { bytesMax } });
		}
	}

	/**
	 * At a limit, evicts entries without readers, of this asker or of all, until a share of the limit is free: unknown services first,
	 * entries that cannot be restored while the registry is away last, and among equals the least recently used.
	 */
	#evictIdle(used: () => Use, limit: Use, asker: Asker): void {
		const { count, bytes } = used();
		if (count < limit.count && bytes < limit.bytes) return;
		const idle: { key: string; entry: CacheEntry<Q, V, S>; rank: number }[] = [];
		for (const [key, entry] of this.#entries) {
			if (isRead(entry) || (asker !== undefined && entry.asker !== asker)) continue;
			this.#noteUse(entry);
			idle.push({ key, entry, rank: entry.served.isEmpty ? 0 : entry.isLastKnown ? 2 : 1 });
		}
		idle.sort((left, right) => left.rank - right.rank || left.entry.usedAtMs - right.entry.usedAtMs);
		for (const { key, entry } of idle) {
			const now = used();
			if (now.count <= limit.count * (1 - ROOM_SHARE) && now.bytes <= limit.bytes * (1 - ROOM_SHARE)) return;
			this.#evict(key, entry);
		}
	}

	/** Turns the flag of `peek` into a time. */
	#noteUse(entry: CacheEntry<Q, V, S>): void {
		if (!entry.peeked) return;
		entry.peeked = false;
		entry.used();
	}

	#evict(key: string, entry: CacheEntry<Q, V, S>): void {
		this.#entries.delete(key);
		this.#listenIfInUse();
		this.#count(entry, undefined);
		this.#bytes -= entry.bytes;
		entry.evict();
	}

	/** Notices that this process stood still, while there is something that has an age. */
	#listenIfInUse(): void {
		const { clock, confirmsAfterStandstill } = this.#options;
		if (this.#entries.size === 0) {
			this.#endListening?.();
			this.#endListening = undefined;
			return;
		}
		this.#endListening ??= ageClockOf(clock).onStandstill(() => {
			if (confirmsAfterStandstill !== true) for (const entry of [...this.#entries.values()]) entry.stoodStill();
		});
	}

	/** Before the registry is queried again for this entry: ends it if it has no readers. */
	#endIfUnread(query: Q): boolean {
		const key = this.#options.kind.keyOf(query);
		const entry = this.#entries.get(key);
		if (entry === undefined) return true;
		if (isRead(entry) || entry === this.#opening || entry.isLastKnown) return false;
		if (entry.isInUse && !entry.served.isEmpty) return false;
		this.#evict(key, entry);
		return true;
	}

	#armSweep(): void {
		if (this.#sweepTimer !== undefined) return;
		const { clock, idleTtlMs } = this.#options;
		this.#sweepTimer = clock.setTimeout(
			() => {
				this.#sweepTimer = undefined;
				this.#sweep();
				if (this.#entries.size > 0) this.#armSweep();
			},
			Math.max(1, Math.min(EMPTY_IDLE_TTL_MS, Math.ceil(idleTtlMs / 2))),
		);
		this.#sweepTimer.unref?.();
	}

	/** Evicts the entries that were not read for `idleTtlMs`, and unknown services sooner. */
	#sweep(): void {
		const { clock, idleTtlMs } = this.#options;
		const nowMs = clock.now();
		for (const [key, entry] of this.#entries) {
			this.#noteUse(entry);
			if (isRead(entry)) {
				// A reader uses its entry all the time, so that a query that was sent once is not preferred to it.
				entry.used();
				continue;
			}
			// Treat a query without an answer like an unknown service.
			const ttlMs = entry.served.isEmpty && !entry.isLastKnown ? Math.min(EMPTY_IDLE_TTL_MS, idleTtlMs) : idleTtlMs;
			// A last known answer cannot be restored while the registry is away: evict it only to make room.
			if (entry.isLastKnown || entry.usedAtMs > nowMs - ttlMs) continue;
			this.#evict(key, entry);
		}
	}
}

function megabytes(bytes: number): number {
	return Math.ceil(bytes / 1e6);
}

/** True if an observer follows it, or a caller waits for an answer. */
function isRead({ served, waiters }: { served: { observers: { size: number } }; waiters: { size: number } }): boolean {
	return served.observers.size > 0 || waiters.size > 0;
}
