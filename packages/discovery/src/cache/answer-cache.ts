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
import { durationMsOption, inNeutralContext, integerOption, type TimerHandle } from '@spock/protocol/internal';

import { throwIfAborted } from '../foundation/waiting.ts';
import type { EntryInspection, EntryStatus } from './answer-kind.ts';
import { CacheEntry, type CacheEntryContext } from './cache-entry.ts';

/** Failures that say how it stands with a question, and not with the call. */
const EXPLAINED: ReadonlySet<string> = new Set(['NOT_READY', 'UNAVAILABLE', 'ACL_DENIED', 'TIMEOUT']);

/** What an {@link AnswerCache} needs; all resolved. */
export interface AnswerCacheOptions<Q, V extends readonly unknown[], S extends SnapshotState>
	extends Omit<CacheEntryContext<Q, V, S>, 'nextRevision' | 'endIfUnread'> {
	readonly idleTtlMs: number;
	readonly entriesMax: number;
	/** Of those, how many may be there for one asker alone. */
	readonly entriesPerClientMax: number;
	readonly firstAnswerMs: number;
}

/** What is not in the registry is forgotten sooner than what is: made-up names are asked once. */
const EMPTY_IDLE_TTL_MS = 5000;
/** Room is made for so many at once, as a fraction of a limit: to find out who must go takes a look at all. */
const ROOM_SHARE = 1 / 16;

type Asker = AskedBy['asker'];

/** One watch for each question, however many ask it; the last good answer of each; and an end for those nobody reads. */
export class AnswerCache<Q, V extends readonly unknown[], S extends SnapshotState> implements WatchedSource<Q, S> {
	readonly #options: AnswerCacheOptions<Q, V, S>;
	readonly #context: CacheEntryContext<Q, V, S>;
	readonly #entries = new Map<string, CacheEntry<Q, V, S>>();
	/** Entries that are there for one asker alone. */
	readonly #shares = new Map<Asker, number>();
	/** Its watch is being started: whoever asks for it is not among its readers yet. */
	#opening: CacheEntry<Q, V, S> | undefined;
	#revision = 0;
	#sweepTimer: TimerHandle | undefined;
	#closed = false;

	constructor(options: AnswerCacheOptions<Q, V, S>) {
		this.#options = options;
		this.#context = {
			...options,
			nextRevision: () => ++this.#revision,
			endIfUnread: (query) => this.#endIfUnread(query),
		};
	}

	/** The snapshot known now, in this tick; undefined when there is none. Counts as a use of the entry. */
	peek(query: Q): S | undefined {
		const entry = this.#entries.get(this.#options.kind.keyOf(query));
		if (entry === undefined) return undefined;
		// A mark and no look at the clock, which costs more than the rest of this.
		entry.peeked = true;
		return entry.read();
	}

	/** The current snapshot, or the first one when it comes; verified first if it is older than the caller wants. */
	async get(query: Q, options: ReadOptions = {}): Promise<S> {
		const { signal, maxAgeMs, timeoutMs = this.#options.firstAnswerMs, asker } = options;
		const waitMs = durationMsOption('timeoutMs', timeoutMs);
		if (maxAgeMs !== undefined) integerOption('maxAgeMs', maxAgeMs, 0, TIMEOUT_MS_MAX);
		throwIfAborted(signal);
		const entry = this.#entry(query, asker);
		const known = entry.read();
		if (known === undefined) {
			const refusal = entry.refusal();
			if (refusal !== undefined) throw refusal;
			await this.#nextAnswer(entry, waitMs, signal);
		} else if (maxAgeMs !== undefined && entry.ageMs > maxAgeMs) {
			await this.#verify(entry, maxAgeMs, waitMs, signal);
		}
		// A fresh entry was verified just now or is young enough, however long its reader had to wait for its turn.
		if (maxAgeMs !== undefined && !entry.isFresh && entry.ageMs > maxAgeMs) {
			throw this.#tooOld(entry, maxAgeMs, entry.error);
		}
		const answer = maxAgeMs === undefined ? entry.read() : entry.readVerified();
		if (answer === undefined) throw entry.refusal() ?? this.#notReady(query, waitMs);
		return answer;
	}

	/** What is known of a question beyond its snapshot; waits for a first answer, and says why there is none. */
	async inspect(query: Q, options: CallOptions & AskedBy = {}): Promise<EntryInspection<Q, V, S>> {
		try {
			await this.get(query, options);
		} catch (error) {
			// Why there is nothing to serve is what the question is about; a caller that gave up is told so.
			if (!SpockError.is(error) || !EXPLAINED.has(error.code)) throw error;
			const inspection = this.#entries.get(this.#options.kind.keyOf(query))?.inspect();
			if (inspection === undefined) throw error;
			return { ...inspection, error: inspection.error ?? error.message };
		}
		return this.#entry(query, options.asker).inspect();
	}

	/** What is known of a question that is watched, else undefined; to look is no use of it, and evicts it no later. */
	known(query: Q): EntryInspection<Q, V, S> | undefined {
		return this.#entries.get(this.#options.kind.keyOf(query))?.inspect();
	}

	/** A part of what has this name is being taken out on purpose: see `CacheEntry.expectGone`. */
	expectGone(name: string, part: string): void {
		const { kind } = this.#options;
		for (const entry of this.#entries.values()) if (kind.nameOf(entry.query) === name) entry.expectGone(part);
	}

	/** Tells the observer what is known, then every change. */
	watch(query: Q, observer: SnapshotObserver<S>, { asker }: AskedBy = {}): SourceWatch {
		const entry = this.#entry(query, asker);
		// An observer of its own for each call: the same object may watch twice.
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
			// The caller has no `stop` to call: the observer would stay for ever.
			entry.observers.delete(own);
			throw fault;
		}
		return {
			stop: () => {
				if (entry.observers.delete(own)) entry.usedAtMs = this.#options.clock.now();
			},
		};
	}

	/** Every question being watched and what is known of it. */
	watches<W>(describe: (query: Q, status: EntryStatus<V>) => W): W[] {
		return [...this.#entries.values()].map((entry) => describe(entry.query, entry.status()));
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#options.clock.clearTimeout(this.#sweepTimer);
		for (const entry of this.#entries.values()) entry.close();
		this.#entries.clear();
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
		this.#count(entry, asker);
		this.#armSweep();
		this.#opening = entry;
		try {
			// The first who asks begins it; it outlives that.
			inNeutralContext(() => entry.open());
		} catch (error) {
			// Nothing watches it: without this its readers would wait for an answer that cannot come.
			this.#evict(key, entry);
			throw SpockError.from(error);
		} finally {
			this.#opening = undefined;
		}
		return entry;
	}

	/** Counts an entry against the share of this asker, and of no other. */
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

	/** For one more entry. Throws OVERLOADED where all that could go have readers. */
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
	 * Evicts a part of `limit` of the entries without readers, of this asker or of all: first what is not in the registry, last
	 * what cannot be had again while the registry is away, and of equals what was not used for longest.
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

	/** A mark of `peek` becomes a time. */
	#noteUse(entry: CacheEntry<Q, V, S>): void {
		if (!entry.peeked) return;
		entry.peeked = false;
		entry.used();
	}

	#evict(key: string, entry: CacheEntry<Q, V, S>): void {
		this.#entries.delete(key);
		this.#count(entry, undefined);
		entry.evict();
	}

	/** The registry would be asked again for this: not if nobody reads it. */
	#endIfUnread(query: Q): boolean {
		const key = this.#options.kind.keyOf(query);
		const entry = this.#entries.get(key);
		if (entry === undefined) return true;
		if (isRead(entry) || entry === this.#opening || entry.isLastKnown) return false;
		if (entry.isInUse && !entry.isEmpty) return false;
		this.#evict(key, entry);
		return true;
	}

	/** Has the registry asked out of turn. Rejects with UNAVAILABLE when it does not answer. */
	async #verify(
		entry: CacheEntry<Q, V, S>,
		maxAgeMs: number,
		waitMs: number,
		signal: AbortSignal | undefined,
	): Promise<void> {
		// A watch that fails asks again by itself, and more often would not help a registry that is out of reach.
		if (!entry.isFresh) return;
		const answered = this.#nextAnswer(entry, waitMs, signal);
		entry.verify();
		try {
			await answered;
		} catch (error) {
			if (SpockError.is(error, 'ABORTED') || SpockError.is(error, 'CLOSED')) throw error;
			throw this.#tooOld(entry, maxAgeMs, error);
		}
	}

	#nextAnswer({ query, waiters }: CacheEntry<Q, V, S>, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
		return waiters.wait(waitMs, () => this.#notReady(query, waitMs), signal);
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

	/** Evicts the entries that nobody has read for `idleTtlMs`, and sooner what is not in the registry. */
	#sweep(): void {
		const { clock, idleTtlMs } = this.#options;
		const nowMs = clock.now();
		for (const [key, entry] of this.#entries) {
			this.#noteUse(entry);
			if (isRead(entry)) {
				// Who reads uses it all the time: a question that was asked once is not preferred to it.
				entry.used();
				continue;
			}
			// What was never answered is no better known than what is not there.
			const ttlMs = entry.isEmpty && !entry.isLastKnown ? Math.min(EMPTY_IDLE_TTL_MS, idleTtlMs) : idleTtlMs;
			// What is last known cannot be had again while the registry is away: it goes only to make room.
			if (entry.isLastKnown || entry.usedAtMs > nowMs - ttlMs) continue;
			this.#evict(key, entry);
		}
	}

	#tooOld({ query, ageMs }: CacheEntry<Q, V, S>, maxAgeMs: number, cause: unknown): SpockError {
		const { kind } = this.#options;
		return tooOldError(kind.noun, kind.nameOf(query), ageMs, maxAgeMs, cause);
	}

	#notReady(query: Q, waitedMs: number): SpockError {
		const { kind } = this.#options;
		const name = kind.nameOf(query);
		const message = `the registry has not answered for ${JSON.stringify(name)} within ${waitedMs} ms`;
		return new SpockError('NOT_READY', message, { details: { [kind.noun]: name, waitedMs } });
	}
}

/** Somebody is told of its changes, or waits for an answer. */
function isRead({ observers, waiters }: { observers: { size: number }; waiters: { size: number } }): boolean {
	return observers.size > 0 || waiters.size > 0;
}
