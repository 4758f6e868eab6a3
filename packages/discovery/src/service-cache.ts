import {
	type CallOptions,
	type Inspection,
	normaliseQuery,
	queryKey,
	type ReadOptions,
	type ServiceQuery,
	type ServiceSnapshot,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
	TIMEOUT_MS_MAX,
	tooOldError,
	type WatchStatus,
} from '@spock/protocol';
import { durationMsOption, integerOption, type TimerHandle } from '@spock/protocol/internal';

import { CacheEntry, type CacheEntryContext, type Waiter } from './cache-entry.ts';

/** Failures that say how it stands with a question, and not with the call. */
const EXPLAINED: ReadonlySet<string> = new Set(['NOT_READY', 'UNAVAILABLE', 'ACL_DENIED', 'TIMEOUT']);

/** What a {@link ServiceCache} needs; all resolved. */
export interface ServiceCacheOptions extends Omit<CacheEntryContext, 'nextRevision'> {
	readonly idleTtlMs: number;
	readonly entriesMax: number;
	readonly firstAnswerMs: number;
}

/** One watch for each question, however many ask it; the last good answer of each; and an end for those nobody reads. */
export class ServiceCache {
	readonly #options: ServiceCacheOptions;
	readonly #context: CacheEntryContext;
	readonly #entries = new Map<string, CacheEntry>();
	#revision = 0;
	#sweepTimer: TimerHandle | undefined;
	#closed = false;

	constructor(options: ServiceCacheOptions) {
		this.#options = options;
		this.#context = { ...options, nextRevision: () => ++this.#revision };
	}

	/** The snapshot known now, in this tick; undefined when there is none. Counts as a use of the entry. */
	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		const entry = this.#entries.get(queryKey(query));
		if (entry === undefined) return undefined;
		// A mark and no look at the clock, which costs more than the rest of this.
		entry.peeked = true;
		return entry.read();
	}

	/** The current snapshot, or the first one when it comes; verified first if it is older than the caller wants. */
	async get(query: ServiceQuery, options: ReadOptions = {}): Promise<ServiceSnapshot> {
		const { signal, maxAgeMs, timeoutMs = this.#options.firstAnswerMs } = options;
		const waitMs = durationMsOption('timeoutMs', timeoutMs);
		if (maxAgeMs !== undefined) integerOption('maxAgeMs', maxAgeMs, 0, TIMEOUT_MS_MAX);
		if (signal?.aborted) throw aborted(signal);
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
			throw tooOldError(query, entry.ageMs, maxAgeMs, entry.error);
		}
		const answer = maxAgeMs === undefined ? entry.read() : entry.readVerified();
		if (answer === undefined) throw entry.refusal() ?? notReady(query, waitMs);
		return answer;
	}

	/** What is known of a question beyond its snapshot; waits for a first answer, and says why there is none. */
	async inspect(query: ServiceQuery, options: CallOptions = {}): Promise<Inspection> {
		try {
			await this.get(query, options);
		} catch (error) {
			// Why there is nothing to serve is what the question is about; a caller that gave up is told so.
			if (!SpockError.is(error) || !EXPLAINED.has(error.code)) throw error;
			const inspection = this.#entries.get(queryKey(query))?.inspect();
			if (inspection === undefined) throw error;
			return { ...inspection, error: inspection.error ?? error.message };
		}
		return this.#entry(query).inspect();
	}

	/** An instance of this service was taken out on purpose: see `CacheEntry.trustEmpty`. */
	trustEmpty(service: string): void {
		for (const entry of this.#entries.values()) if (entry.query.service === service) entry.trustEmpty();
	}

	/** Tells the observer what is known, then every change. */
	watch(query: ServiceQuery, observer: SnapshotObserver): SourceWatch {
		const entry = this.#entry(query);
		// An observer of its own for each call: the same object may watch twice.
		const own: SnapshotObserver = {
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

	watches(): WatchStatus[] {
		return [...this.#entries.values()].map((entry) => entry.status());
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#options.clock.clearTimeout(this.#sweepTimer);
		for (const entry of this.#entries.values()) entry.close();
		this.#entries.clear();
	}

	#entry(query: ServiceQuery): CacheEntry {
		if (this.#closed) throw new SpockError('CLOSED', 'the source of services was closed');
		const key = queryKey(query);
		const known = this.#entries.get(key);
		if (known !== undefined) {
			known.usedAtMs = this.#options.clock.now();
			return known;
		}
		const { entriesMax } = this.#options;
		if (this.#entries.size >= entriesMax) this.#sweep(true);
		if (this.#entries.size >= entriesMax) {
			throw new SpockError('OVERLOADED', `${entriesMax} different services are watched, which is the limit`, {
				details: { entriesMax },
			});
		}
		const entry = new CacheEntry(normaliseQuery(query), this.#context);
		this.#entries.set(key, entry);
		this.#armSweep();
		entry.open();
		return entry;
	}

	/** Has the registry asked out of turn. Rejects with UNAVAILABLE when it does not answer. */
	async #verify(entry: CacheEntry, maxAgeMs: number, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
		// A watch that fails asks again by itself, and more often would not help a registry that is out of reach.
		if (!entry.isFresh) return;
		const answered = this.#nextAnswer(entry, waitMs, signal);
		entry.verify();
		try {
			await answered;
		} catch (error) {
			if (SpockError.is(error, 'ABORTED') || SpockError.is(error, 'CLOSED')) throw error;
			throw tooOldError(entry.query, entry.ageMs, maxAgeMs, error);
		}
	}

	#nextAnswer(entry: CacheEntry, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
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
			const timer = clock.setTimeout(() => waiter.reject(notReady(entry.query, waitMs)), waitMs);
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
}

function notReady({ service }: ServiceQuery, waitedMs: number): SpockError {
	const message = `the registry has not answered for ${JSON.stringify(service)} within ${waitedMs} ms yet`;
	return new SpockError('NOT_READY', message, { details: { service, waitedMs } });
}

function aborted(signal: AbortSignal): SpockError {
	return new SpockError('ABORTED', 'the caller aborted the call', { cause: signal.reason });
}
