import {
	type AskedBy,
	type CallOptions,
	type ReadOptions,
	type SnapshotObserver,
	type SnapshotState,
	type SourceWatch,
	SpockError,
	TIMEOUT_MS_MAX,
	tooOldError,
	type WatchedSource,
} from '@spock/protocol';
import {
	ageClockOf,
	durationMsOption,
	inNeutralContext,
	integerOption,
	type TimerHandle,
} from '@spock/protocol/internal';

import { throwIfAborted } from '../foundation/waiting.ts';
import type { EntryInspection, EntryStatus } from './answer-kind.ts';
import { CacheEntry, type CacheEntryContext } from './cache-entry.ts';

/** Failures that describe the state of a query, not of the call. */
const EXPLAINED: ReadonlySet<string> = new Set(['NOT_READY', 'UNAVAILABLE', 'ACL_DENIED', 'TIMEOUT']);

/** What an {@link AnswerCache} needs; all resolved. */
export interface AnswerCacheOptions<Q, V extends readonly unknown[], S extends SnapshotState>
	extends Omit<CacheEntryContext<Q, V, S>, 'nextRevision' | 'endIfUnread'> {
	readonly idleTtlMs: number;
	readonly entriesMax: number;
	/** Most entries that serve one asker alone. */
	readonly entriesPerClientMax: number;
	readonly firstAnswerMs: number;
}

/** Entries of unknown services are evicted sooner, because made-up names are queried once. */
const EMPTY_IDLE_TTL_MS = 5000;
/** Share of a limit that is evicted at once, because choosing the entries requires a look at all of them. */
const ROOM_SHARE = 1 / 16;

/** What was asked for after a call may seem this much older: times pass through other processes in whole milliseconds. */
const ROUNDING_MS = 2;
/** How often the registry is asked for one caller: what was asked before it came, or is answered by another watch, may say too little. */
const VERIFIES_MAX = 3;

type Asker = AskedBy['asker'];

/** How one caller waits. */
interface Wait {
	/** Its whole time. */
	readonly waitMs: number;
	readonly endMs: number;
	readonly signal: AbortSignal | undefined;
	/** False for one that takes a failure for an answer. */
	readonly isPatient: boolean;
}

/** One watch for each query, shared by all callers, with its last good answer; ended when it has no readers. */
export class AnswerCache<Q, V extends readonly unknown[], S extends SnapshotState> implements WatchedSource<Q, S> {
	readonly #options: AnswerCacheOptions<Q, V, S>;
	readonly #context: CacheEntryContext<Q, V, S>;
	readonly #entries = new Map<string, CacheEntry<Q, V, S>>();
	/** Entries that serve one asker alone. */
	readonly #shares = new Map<Asker, number>();
	/** The entry whose watch is being started: its caller is not among its readers yet. */
	#opening: CacheEntry<Q, V, S> | undefined;
	#revision = 0;
	#sweepTimer: TimerHandle | undefined;
	#closed = false;
	/** While there are entries. */
	#endListening: (() => void) | undefined;

	constructor(options: AnswerCacheOptions<Q, V, S>) {
		this.#options = options;
		this.#context = {
			...options,
			nextRevision: () => ++this.#revision,
			endIfUnread: (query) => this.#endIfUnread(query),
		};
	}

	/** The snapshot known now, in this tick; undefined without one. Counts as a use of the entry. */
	peek(query: Q): S | undefined {
		const entry = this.#entries.get(this.#options.kind.keyOf(query));
		if (entry === undefined) return undefined;
		// A flag, because reading the clock costs more than the rest of this function.
		entry.peeked = true;
		return entry.read();
	}

	/**
	 * The current snapshot, or the first one once it arrives; verified first if it is older than the caller accepts. A caller waits within
	 * its time for a registry that fails and is asked again; only a final failure ends its wait earlier.
	 */
	get(query: Q, options: ReadOptions = {}): Promise<S> {
		return this.#get(query, options, true);
	}

	async #get(query: Q, options: ReadOptions, isPatient: boolean): Promise<S> {
		const { signal, maxAgeMs, timeoutMs = this.#options.firstAnswerMs, asker } = options;
		const waitMs = durationMsOption('timeoutMs', timeoutMs);
		if (maxAgeMs !== undefined) integerOption('maxAgeMs', maxAgeMs, 0, TIMEOUT_MS_MAX);
		throwIfAborted(signal);
		const entry = this.#entry(query, asker);
		const ages = ageClockOf(this.#options.clock);
		const isYoung = (byMs: number): boolean => maxAgeMs === undefined || entry.verifiedAtMs >= byMs - maxAgeMs;
		const calledAtMs = ages.now();
		const known = entry.read();
		const wait = { waitMs, endMs: this.#options.clock.now() + waitMs, signal, isPatient };
		if (known === undefined) await this.#firstAnswer(entry, wait);
		// A first answer may be old when it comes; one that was asked for since the call may have taken its time.
		for (let verifies = 0; maxAgeMs !== undefined && verifies < VERIFIES_MAX; verifies++) {
			if (isYoung(verifies === 0 ? ages.now() : calledAtMs - ROUNDING_MS)) break;
			await this.#verify(entry, maxAgeMs, wait);
		}
		if (maxAgeMs !== undefined && !isYoung(entry.isFresh ? calledAtMs - ROUNDING_MS : ages.now())) {
			throw this.#tooOld(entry, maxAgeMs, entry.error);
		}
		const answer = maxAgeMs === undefined ? entry.read() : entry.readVerified();
		if (answer === undefined) throw entry.refusal() ?? this.#notReady(query, waitMs);
		return answer;
	}

	/** Everything known of a query beyond its snapshot; waits for a first answer, and gives the reason if none comes. */
	async inspect(query: Q, options: CallOptions & AskedBy = {}): Promise<EntryInspection<Q, V, S>> {
		try {
			// A person waits for the reason, and not for the registry.
			await this.#get(query, options, false);
		} catch (error) {
			// The error is part of the inspection; a caller that gave up gets its own error.
			if (!SpockError.is(error) || !EXPLAINED.has(error.code)) throw error;
			const inspection = this.#entries.get(this.#options.kind.keyOf(query))?.inspect();
			if (inspection === undefined) throw error;
			return { ...inspection, error: inspection.error ?? error.message };
		}
		return this.#entry(query, options.asker).inspect();
	}

	/** Everything known of a watched query, else undefined; does not count as a use of the entry. */
	known(query: Q): EntryInspection<Q, V, S> | undefined {
		return this.#entries.get(this.#options.kind.keyOf(query))?.inspect();
	}

	/** This process is deregistering a part of the queries with this name: see `CacheEntry.expectGone`. */
	expectGone(name: string, part: string): void {
		const { kind } = this.#options;
		for (const entry of this.#entries.values()) if (kind.nameOf(entry.query) === name) entry.expectGone(part);
	}

	/** Notifies the observer of the known snapshot, then of every change. */
	watch(query: Q, observer: SnapshotObserver<S>, { asker }: AskedBy = {}): SourceWatch {
		const entry = this.#entry(query, asker);
		// A new observer for each call, because the same object may watch twice.
		const own: SnapshotObserver<S> = {
			next: (snapshot) => observer.next(snapshot),
			error: (error) => observer.error?.(error),
		};
		entry.observers.add(own);
		const known = entry.read();
		try {
			if (known !== undefined) own.next(known);
			else if (entry.error !== undefined) own.error?.(entry.error);
		} catch (fault) {
			// The caller gets no `stop` to call, so the observer would stay for ever.
			entry.observers.delete(own);
			throw fault;
		}
		return {
			stop: () => {
				if (entry.observers.delete(own)) entry.usedAtMs = this.#options.clock.now();
			},
		};
	}

	/** Every watched query and its state. */
	watches<W>(describe: (query: Q, status: EntryStatus<V>) => W): W[] {
		return [...this.#entries.values()].map((entry) => describe(entry.query, entry.status()));
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#options.clock.clearTimeout(this.#sweepTimer);
		for (const entry of this.#entries.values()) entry.close();
		this.#entries.clear();
		this.#listenIfInUse();
		this.#shares.clear();
	}

	#entry(query: Q, asker: Asker): CacheEntry<Q, V, S> {
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

	/** Counts an entry against the share of this asker alone. */
	#count(entry: CacheEntry<Q, V, S>, asker: Asker): void {
		const before = entry.asker;
		entry.asker = asker;
		if (before !== undefined) {
			const count = (this.#shares.get(before) ?? 0) - 1;
			if (count > 0) this.#shares.set(before, count);
			else this.#shares.delete(before);
		}
		if (asker !== undefined) this.#shares.set(asker, (this.#shares.get(asker) ?? 0) + 1);
	}

	/** Makes room for one more entry. Throws OVERLOADED if all have readers. */
	#makeRoom(asker: Asker): void {
		const { entriesMax, entriesPerClientMax, kind } = this.#options;
		const isShareFull = (): boolean => asker !== undefined && (this.#shares.get(asker) ?? 0) >= entriesPerClientMax;
		if (isShareFull()) this.#evictIdle(entriesPerClientMax, asker);
		if (isShareFull()) {
			const message = `this client watches ${entriesPerClientMax} different ${kind.noun}s, which is the limit of one client`;
			throw new SpockError('OVERLOADED', message, { details: { entriesPerClientMax } });
		}
		if (this.#entries.size >= entriesMax) this.#evictIdle(entriesMax, undefined);
		if (this.#entries.size >= entriesMax) {
			throw new SpockError('OVERLOADED', `${entriesMax} different ${kind.noun}s are watched, which is the limit`, {
				details: { entriesMax },
			});
		}
	}

	/**
	 * Evicts a share of `limit` of the entries without readers, of this asker or of all: unknown services first, entries that cannot be
	 * restored while the registry is away last, and among equals the least recently used.
	 */
	#evictIdle(limit: number, asker: Asker): void {
		const idle: { key: string; entry: CacheEntry<Q, V, S>; rank: number }[] = [];
		for (const [key, entry] of this.#entries) {
			if (isRead(entry) || (asker !== undefined && entry.asker !== asker)) continue;
			this.#noteUse(entry);
			idle.push({ key, entry, rank: entry.isEmpty ? 0 : entry.isLastKnown ? 2 : 1 });
		}
		idle.sort((left, right) => left.rank - right.rank || left.entry.usedAtMs - right.entry.usedAtMs);
		for (const { key, entry } of idle.slice(0, Math.ceil(limit * ROOM_SHARE))) this.#evict(key, entry);
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
		if (entry.isInUse && !entry.isEmpty) return false;
		this.#evict(key, entry);
		return true;
	}

	/** Waits until there is something to serve. */
	async #firstAnswer(entry: CacheEntry<Q, V, S>, wait: Wait): Promise<void> {
		do {
			const refusal = wait.isPatient ? entry.finalRefusal() : entry.refusal();
			if (refusal !== undefined) throw refusal;
			await this.#nextAnswer(entry, wait);
		} while (entry.read() === undefined);
	}

	/** Queries the registry out of turn, and waits until it has confirmed what is served. Rejects with UNAVAILABLE if it does not. */
	async #verify(entry: CacheEntry<Q, V, S>, maxAgeMs: number, wait: Wait): Promise<void> {
		try {
			for (let isVerified = false; !isVerified; ) {
				const refusal = entry.finalRefusal();
				if (refusal !== undefined) throw refusal;
				const wasFresh = entry.isFresh;
				const answered = this.#nextAnswer(entry, wait);
				// A failing watch retries by itself.
				entry.verify();
				await answered;
				// The query that a failing watch sent may be older than the caller's.
				isVerified = entry.isFresh && (wasFresh || entry.verifiedAgeMs <= maxAgeMs);
			}
		} catch (error) {
			if (SpockError.is(error, 'ABORTED') || SpockError.is(error, 'CLOSED')) throw error;
			throw this.#tooOld(entry, maxAgeMs, error);
		}
	}

	#nextAnswer(entry: CacheEntry<Q, V, S>, { waitMs, endMs, signal, isPatient }: Wait): Promise<void> {
		const { query, waiters } = entry;
		const tooLate = (): SpockError => entry.refusal() ?? entry.error ?? this.#notReady(query, waitMs);
		return waiters.wait(Math.max(0, endMs - this.#options.clock.now()), tooLate, signal, isPatient);
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
			const ttlMs = entry.isEmpty && !entry.isLastKnown ? Math.min(EMPTY_IDLE_TTL_MS, idleTtlMs) : idleTtlMs;
			// A last known answer cannot be restored while the registry is away: evict it only to make room.
			if (entry.isLastKnown || entry.usedAtMs > nowMs - ttlMs) continue;
			this.#evict(key, entry);
		}
	}

	#tooOld({ query, verifiedAgeMs }: CacheEntry<Q, V, S>, maxAgeMs: number, cause: unknown): SpockError {
		const { kind } = this.#options;
		return tooOldError(kind.noun, kind.nameOf(query), verifiedAgeMs, maxAgeMs, cause);
	}

	#notReady(query: Q, waitedMs: number): SpockError {
		const { kind } = this.#options;
		const name = kind.nameOf(query);
		const message = `the registry has not answered for ${JSON.stringify(name)} within ${waitedMs} ms`;
		return new SpockError('NOT_READY', message, { details: { [kind.noun]: name, waitedMs } });
	}
}

/** True if an observer follows it, or a caller waits for an answer. */
function isRead({ observers, waiters }: { observers: { size: number }; waiters: { size: number } }): boolean {
	return observers.size > 0 || waiters.size > 0;
}
