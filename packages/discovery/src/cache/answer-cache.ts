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
import { ageClockOf, durationMsOption, integerOption } from '@spock/protocol/internal';

import { throwIfAborted } from '../foundation/waiting.ts';
import type { EntryInspection, EntryStatus } from './answer-kind.ts';
import { CacheEntries, type CacheEntriesOptions } from './cache-entries.ts';
import type { CacheEntry } from './cache-entry.ts';

/** Failures that describe the state of a query, not of the call. */
const EXPLAINED: ReadonlySet<string> = new Set(['NOT_READY', 'UNAVAILABLE', 'ACL_DENIED', 'TIMEOUT']);

/** What an {@link AnswerCache} needs; all resolved. */
export interface AnswerCacheOptions<Q, V extends readonly unknown[], S extends SnapshotState>
	extends CacheEntriesOptions<Q, V, S> {
	/** How long a caller waits by default. */
	readonly firstAnswerMs: number;
}

/** What was asked for after a call may seem this much older: times pass through other processes in whole milliseconds. */
const ROUNDING_MS = 2;
/** How often the registry is asked for one caller: what was asked before it came, or is answered by another watch, may be too old. */
const VERIFIES_MAX = 3;

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
	readonly #entries: CacheEntries<Q, V, S>;

	constructor(options: AnswerCacheOptions<Q, V, S>) {
		this.#options = options;
		this.#entries = new CacheEntries(options);
	}

	/** The snapshot known now, in this tick; undefined without one. Counts as a use of the entry. */
	peek(query: Q): S | undefined {
		const entry = this.#entries.find(query);
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
		const entry = this.#entries.open(query, asker);
		const ages = ageClockOf(this.#options.clock);
		const isYoung = (byMs: number): boolean => maxAgeMs === undefined || entry.served.verifiedAtMs >= byMs - maxAgeMs;
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
			const inspection = this.#entries.find(query)?.inspect();
			if (inspection === undefined) throw error;
			return { ...inspection, error: inspection.error ?? error.message };
		}
		return this.#entries.open(query, options.asker).inspect();
	}

	/** Everything known of a watched query, else undefined; does not count as a use of the entry. */
	known(query: Q): EntryInspection<Q, V, S> | undefined {
		return this.#entries.find(query)?.inspect();
	}

	/** This process is deregistering a part of the queries with this name: see `CacheEntry.expectGone`. */
	expectGone(name: string, part: string): void {
		const { kind } = this.#options;
		for (const entry of this.#entries.values()) if (kind.nameOf(entry.query) === name) entry.expectGone(part);
	}

	/** Notifies the observer of the known snapshot, then of every change. */
	watch(query: Q, observer: SnapshotObserver<S>, { asker }: AskedBy = {}): SourceWatch {
		const entry = this.#entries.open(query, asker);
		// A new observer for each call, because the same object may watch twice.
		const own: SnapshotObserver<S> = {
			next: (snapshot) => observer.next(snapshot),
			error: (error) => observer.error?.(error),
		};
		entry.served.observers.add(own);
		const known = entry.read();
		try {
			if (known !== undefined) own.next(known);
			else if (entry.error !== undefined) own.error?.(entry.error);
		} catch (fault) {
			// The caller gets no `stop` to call, so the observer would stay for ever.
			entry.served.observers.delete(own);
			throw fault;
		}
		return {
			stop: () => {
				if (entry.served.observers.delete(own)) entry.usedAtMs = this.#options.clock.now();
			},
		};
	}

	/** Every watched query and its state. */
	watches<W>(describe: (query: Q, status: EntryStatus<V>) => W): W[] {
		return [...this.#entries.values()].map((entry) => describe(entry.query, entry.status()));
	}

	close(): void {
		this.#entries.close();
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
				isVerified = entry.isFresh && (wasFresh || entry.served.verifiedAgeMs <= maxAgeMs);
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

	#tooOld({ query, served }: CacheEntry<Q, V, S>, maxAgeMs: number, cause: unknown): SpockError {
		const { kind } = this.#options;
		return tooOldError(kind.noun, kind.nameOf(query), served.verifiedAgeMs, maxAgeMs, cause);
	}

	#notReady(query: Q, waitedMs: number): SpockError {
		const { kind } = this.#options;
		const name = kind.nameOf(query);
		const message = `the registry has not answered for ${JSON.stringify(name)} within ${waitedMs} ms`;
		return new SpockError('NOT_READY', message, { details: { [kind.noun]: name, waitedMs } });
	}
}
