import {
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
import { durationMsOption, integerOption, type TimerHandle } from '@spock/protocol/internal';

import { abortedError, throwIfAborted } from './aborted.ts';
import type { EntryInspection, EntryStatus } from './answer-kind.ts';
import { CacheEntry, type CacheEntryContext, type Waiter } from './cache-entry.ts';

/** Failures that say how it stands with a question, and not with the call. */
const EXPLAINED: ReadonlySet<string> = new Set(['NOT_READY', 'UNAVAILABLE', 'ACL_DENIED', 'TIMEOUT']);

/** What an {@link AnswerCache} needs; all resolved. */
export interface AnswerCacheOptions<Q, V extends readonly unknown[], S extends SnapshotState>
	extends Omit<CacheEntryContext<Q, V, S>, 'nextRevision'> {
	readonly idleTtlMs: number;
	readonly entriesMax: number;
	readonly firstAnswerMs: number;
}

/** One watch for each question, however many ask it; the last good answer of each; and an end for those nobody reads. */
export class AnswerCache<Q, V extends readonly unknown[], S extends SnapshotState> implements WatchedSource<Q, S> {
	readonly #options: AnswerCacheOptions<Q, V, S>;
	readonly #context: CacheEntryContext<Q, V, S>;
	readonly #entries = new Map<string, CacheEntry<Q, V, S>>();
	#revision = 0;
	#sweepTimer: TimerHandle | undefined;
	#closed = false;

	constructor(options: AnswerCacheOptions<Q, V, S>) {
		this.#options = options;
		this.#context = { ...options, nextRevision: () => ++this.#revision };
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
		const { signal, maxAgeMs, timeoutMs = this.#options.firstAnswerMs } = options;
		const waitMs = durationMsOption('timeoutMs', timeoutMs);
		if (maxAgeMs !== undefined) integerOption('maxAgeMs', maxAgeMs, 0, TIMEOUT_MS_MAX);
		throwIfAborted(signal);
		const entry = this.#entry(query);
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
	async inspect(query: Q, options: CallOptions = {}): Promise<EntryInspection<Q, V, S>> {
		try {
			await this.get(query, options);
		} catch (error) {
			// Why there is nothing to serve is what the question is about; a caller that gave up is told so.
			if (!SpockError.is(error) || !EXPLAINED.has(error.code)) throw error;
			const inspection = this.#entries.get(this.#options.kind.keyOf(query))?.inspect();
			if (inspection === undefined) throw error;
			return { ...inspection, error: inspection.error ?? error.message };
		}
		return this.#entry(query).inspect();
	}

	/** What is known of a question that is watched, else undefined; to look is no use of it, and evicts it no later. */
	known(query: Q): EntryInspection<Q, V, S> | undefined {
		return this.#entries.get(this.#options.kind.keyOf(query))?.inspect();
	}

	/** Something of this name was taken out on purpose: see `CacheEntry.trustEmpty`. */
	trustEmpty(name: string): void {
		const { kind } = this.#options;
		for (const entry of this.#entries.values()) if (kind.nameOf(entry.query) === name) entry.trustEmpty();
	}

	/** Tells the observer what is known, then every change. */
	watch(query: Q, observer: SnapshotObserver<S>): SourceWatch {
		const entry = this.#entry(query);
		// An observer of its own for each call: the same object may watch twice.
		const own: SnapshotObserver<S> = {
			next: (snapshot) => observer.next(snapshot),
			error: (error) => observer.error?.(error),
		};
		entry.observers.add(own);
		const known = entry.read();
		if (known !== undefined) own.next(known);
		else if (entry.error !== undefined) own.error?.(entry.error);
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
	}

	#entry(query: Q): CacheEntry<Q, V, S> {
		if (this.#closed) throw new SpockError('CLOSED', 'the source of services was closed');
		const { entriesMax, kind } = this.#options;
		const key = kind.keyOf(query);
		const known = this.#entries.get(key);
		if (known !== undefined) {
			known.usedAtMs = this.#options.clock.now();
			return known;
		}
		if (this.#entries.size >= entriesMax) this.#sweep(true);
		if (this.#entries.size >= entriesMax) {
			throw new SpockError('OVERLOADED', `${entriesMax} different ${kind.noun}s are watched, which is the limit`, {
				details: { entriesMax },
			});
		}
		const entry = new CacheEntry(kind.normalise(query), this.#context);
		this.#entries.set(key, entry);
		this.#armSweep();
		entry.open();
		return entry;
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

	#nextAnswer(entry: CacheEntry<Q, V, S>, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
		const { clock } = this.#options;
		return new Promise((resolve, reject) => {
			const end = (): void => {
				clock.clearTimeout(timer);
				signal?.removeEventListener('abort', onAbort);
				entry.waiters.delete(waiter);
				entry.usedAtMs = clock.now();
			};
			const waiter: Waiter = {
				settle: () => {
					end();
					resolve();
				},
				reject: (error) => {
					end();
					reject(error);
				},
			};
			const onAbort = (): void => waiter.reject(abortedError(signal as AbortSignal));
			const timer = clock.setTimeout(() => waiter.reject(this.#notReady(entry.query, waitMs)), waitMs);
			signal?.addEventListener('abort', onAbort, { once: true });
			entry.waiters.add(waiter);
		});
	}

	#armSweep(): void {
		if (this.#sweepTimer !== undefined) return;
		const { clock, idleTtlMs } = this.#options;
		this.#sweepTimer = clock.setTimeout(
			() => {
				this.#sweepTimer = undefined;
				this.#sweep(false);
				if (this.#entries.size > 0) this.#armSweep();
			},
			Math.max(1, Math.ceil(idleTtlMs / 2)),
		);
		this.#sweepTimer.unref?.();
	}

	/** Evicts the entries that nobody has read for `idleTtlMs`. */
	#sweep(makesRoom: boolean): void {
		const { clock, idleTtlMs } = this.#options;
		const unusedSinceMs = clock.now() - idleTtlMs;
		for (const [key, entry] of this.#entries) {
			if (entry.peeked) {
				entry.peeked = false;
				entry.usedAtMs = clock.now();
			}
			if (entry.observers.size > 0 || entry.waiters.size > 0 || entry.usedAtMs > unusedSinceMs) continue;
			// What is last known cannot be had again while the registry is away: it goes only to make room.
			if (entry.isLastKnown && !makesRoom) continue;
			this.#entries.delete(key);
			entry.evict();
		}
	}

	#tooOld({ query, ageMs }: CacheEntry<Q, V, S>, maxAgeMs: number, cause: unknown): SpockError {
		const { kind } = this.#options;
		return tooOldError(kind.noun, kind.nameOf(query), ageMs, maxAgeMs, cause);
	}

	#notReady(query: Q, waitedMs: number): SpockError {
		const { kind } = this.#options;
		const name = kind.nameOf(query);
		const message = `the registry has not answered for ${JSON.stringify(name)} within ${waitedMs} ms yet`;
		return new SpockError('NOT_READY', message, { details: { [kind.noun]: name, waitedMs } });
	}
}
