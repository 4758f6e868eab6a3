import {
	type CallOptions,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
	type WatchedSource,
} from '@spock/protocol';
import { durationMsOption, type TimerHandle } from '@spock/protocol/internal';

import type { EntryStatus, PublishedState } from './answer-kind.ts';
import { CacheEntry, type CacheEntryContext, type Waiter } from './cache-entry.ts';

/** What an {@link AnswerCache} needs; all resolved. */
export interface AnswerCacheOptions<Q, V, S> extends Omit<CacheEntryContext<Q, V, S>, 'nextRevision'> {
	readonly idleTtlMs: number;
	readonly entriesMax: number;
	readonly firstAnswerMs: number;
}

/** One watch for each question, however many ask it; the last good answer of each; and an end for those nobody reads. */
export class AnswerCache<Q, V, S extends PublishedState> implements WatchedSource<Q, S> {
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

	/** The current snapshot, or the first one when it comes. */
	async get(query: Q, options: CallOptions = {}): Promise<S> {
		const { signal, timeoutMs = this.#options.firstAnswerMs } = options;
		const waitMs = durationMsOption('timeoutMs', timeoutMs);
		if (signal?.aborted) throw aborted(signal);
		const entry = this.#entry(query);
		const known = entry.read();
		if (known !== undefined) return known;
		const refusal = entry.refusal();
		if (refusal !== undefined) throw refusal;
		await this.#firstAnswer(entry, waitMs, signal);
		const answer = entry.read();
		if (answer === undefined) throw entry.refusal() ?? this.#notReady(query, waitMs);
		return answer;
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
		if (this.#entries.size >= entriesMax) this.#sweep();
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

	#firstAnswer(entry: CacheEntry<Q, V, S>, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
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
			const onAbort = (): void => waiter.reject(aborted(signal as AbortSignal));
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
				this.#sweep();
				if (this.#entries.size > 0) this.#armSweep();
			},
			Math.max(1, Math.ceil(idleTtlMs / 2)),
		);
		this.#sweepTimer.unref?.();
	}

	/** Evicts the entries that nobody has read for `idleTtlMs`. */
	#sweep(): void {
		const { clock, idleTtlMs } = this.#options;
		const unusedSinceMs = clock.now() - idleTtlMs;
		for (const [key, entry] of this.#entries) {
			if (entry.peeked) {
				entry.peeked = false;
				entry.usedAtMs = clock.now();
			}
			if (entry.observers.size > 0 || entry.waiters.size > 0 || entry.usedAtMs > unusedSinceMs) continue;
			this.#entries.delete(key);
			entry.evict();
		}
	}

	#notReady(query: Q, waitedMs: number): SpockError {
		const { kind } = this.#options;
		const name = kind.nameOf(query);
		const message = `the registry has not answered for ${JSON.stringify(name)} within ${waitedMs} ms yet`;
		return new SpockError('NOT_READY', message, { details: { [kind.noun]: name, waitedMs } });
	}
}

function aborted(signal: AbortSignal): SpockError {
	return new SpockError('ABORTED', 'the caller aborted the call', { cause: signal.reason });
}
