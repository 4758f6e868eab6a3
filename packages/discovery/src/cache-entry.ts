import { type SnapshotObserver, SpockError } from '@spock/protocol';
import { type Clock, step } from '@spock/protocol/internal';

import type { AnswerKind, EntryStatus, PublishedState } from './answer-kind.ts';
import type { BackendWatch } from './backend.ts';
import {
	type CacheEntryAction,
	type CacheEntryEvent,
	type CacheEntryState,
	cacheEntryMachine,
} from './cache-entry-machine.ts';
import type { DiscoveryListener } from './discovery-event.ts';

/** Somebody who waits for the first answer. */
export interface Waiter {
	settle(): void;
	reject(error: SpockError): void;
}

/** What an entry needs from its cache. */
export interface CacheEntryContext<Q, V, S> {
	readonly kind: AnswerKind<Q, V, S>;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
	/** Gives the next revision: one count for the whole process, so that no entry ever goes back. */
	readonly nextRevision: () => number;
	/** Age past which a stale snapshot is not served any more, in milliseconds. */
	readonly staleMaxMs: number;
}

/** One question, its watch, its last answer and its readers. */
export class CacheEntry<Q, V, S extends PublishedState> {
	readonly query: Q;
	readonly observers: Set<SnapshotObserver<S>> = new Set();
	readonly waiters: Set<Waiter> = new Set();
	/** When somebody last asked; the cache evicts by it. */
	usedAtMs: number;
	/** Read since the last sweep, which turns this into a time. */
	peeked = false;
	readonly #context: CacheEntryContext<Q, V, S>;
	#watch: BackendWatch | undefined;
	#state: CacheEntryState = 'cold';
	// While the entry is fresh this object stays the same until something changes: readers memoise its bytes by identity.
	#snapshot: S | undefined;
	/** What the snapshot was made of. */
	#value: V | undefined;
	#verifiedAtMs = 0;
	#failingSinceMs: number | undefined;
	#error: SpockError | undefined;

	constructor(query: Q, context: CacheEntryContext<Q, V, S>) {
		this.query = query;
		this.#context = context;
		this.usedAtMs = context.clock.now();
	}

	/** Starts the watch. The backend may answer before this returns. */
	open(): void {
		this.#watch = this.#context.kind.watch(this.query, {
			answered: (value) => this.#answered(value),
			failed: (error) => this.#failed(error),
		});
		if (this.#state === 'evicted') this.#watch.stop();
	}

	/** The last error of the watch while it fails. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	/** What can be served now: the live snapshot, or a copy of the last known one with its age; undefined if neither. */
	read(): S | undefined {
		const snapshot = this.#snapshot;
		if (snapshot === undefined || this.#state === 'fresh') return snapshot;
		const ageMs = this.#ageMs();
		return ageMs > this.#context.staleMaxMs ? undefined : Object.freeze({ ...snapshot, ageMs });
	}

	/** Why nothing can be served although the registry has spoken; undefined while its first word is awaited. */
	refusal(): SpockError | undefined {
		if (this.#error !== undefined && this.#snapshot === undefined) return this.#error;
		if (this.#state === 'stale' && this.read() === undefined) {
			const ageMs = Math.round(this.#ageMs());
			const { kind, staleMaxMs } = this.#context;
			const name = kind.nameOf(this.query);
			const message = `what is known of ${JSON.stringify(name)} is ${ageMs} ms old, over the limit`;
			return new SpockError('UNAVAILABLE', message, {
				details: { [kind.noun]: name, ageMs, staleMaxMs },
				cause: this.#error,
			});
		}
		return undefined;
	}

	status(): EntryStatus<V> {
		return {
			value: this.#value,
			state: this.#state === 'evicted' ? 'cold' : this.#state,
			revision: this.#snapshot?.revision ?? 0,
			readers: this.observers.size,
			ageMs: this.#state === 'stale' ? this.#ageMs() : 0,
			error: this.#error?.message ?? null,
		};
	}

	/** Ends the watch because nobody reads any more. */
	evict(): void {
		this.#handle('idle', undefined);
	}

	/** Ends the watch and rejects whoever waits with CLOSED. */
	close(): void {
		this.#error = new SpockError('CLOSED', 'the source of services was closed');
		this.#handle('close', undefined);
		this.observers.clear();
	}

	#ageMs(): number {
		return Math.max(0, this.#context.clock.now() - this.#verifiedAtMs);
	}

	#answered(value: V): void {
		const { clock, onEvent, kind } = this.#context;
		const before = this.#value;
		const isSame = before !== undefined && kind.isSame(before, value);
		if (this.#failingSinceMs !== undefined) {
			onEvent({
				type: 'watch-recovered',
				query: kind.describe(this.query),
				outageMs: clock.now() - this.#failingSinceMs,
			});
			this.#failingSinceMs = undefined;
		}
		this.#error = undefined;
		// An unchanged value keeps its old objects: what readers memoised for each part of it stays good.
		this.#handle(isSame ? 'answered, same' : 'answered, different', isSame ? before : value);
	}

	#failed(error: SpockError): void {
		this.#error = error;
		if (this.#failingSinceMs === undefined) {
			this.#failingSinceMs = this.#context.clock.now();
			const { onEvent, kind } = this.#context;
			onEvent({ type: 'watch-failed', query: kind.describe(this.query), error });
		}
		this.#handle('failed', this.#value);
	}

	#handle(event: CacheEntryEvent, value: V | undefined): void {
		const { state, actions } = step(cacheEntryMachine, this.#state, event);
		this.#state = state;
		for (const action of actions) this.#act(action, value);
	}

	#act(action: CacheEntryAction, value: V | undefined): void {
		switch (action) {
			case 'verify':
				this.#verifiedAtMs = this.#context.clock.now();
				return;
			case 'publish':
				// Only an answer or what is left of one is published: there is a value.
				this.#publish(value as V);
				return;
			case 'settle waiters':
				for (const waiter of takeAll(this.waiters)) waiter.settle();
				return;
			case 'reject waiters':
				this.#rejectWaiters(this.refusal() ?? this.#error);
				return;
			case 'stop the watch':
				this.#watch?.stop();
				return;
		}
	}

	#rejectWaiters(error: SpockError | undefined): void {
		if (error === undefined) return;
		for (const waiter of takeAll(this.waiters)) waiter.reject(error);
		if (this.#state === 'cold') this.#tell((observer) => observer.error?.(error));
	}

	#publish(value: V): void {
		const before = this.#value;
		const isLive = this.#state === 'fresh';
		const { kind, nextRevision, onEvent } = this.#context;
		const snapshot = kind.makeSnapshot(this.query, value, {
			revision: nextRevision(),
			source: isLive ? 'live' : 'last-known-good',
			ageMs: isLive ? 0 : this.#ageMs(),
		});
		this.#value = value;
		this.#snapshot = snapshot;
		onEvent(kind.published(snapshot, before, value));
		this.#tell((observer) => observer.next(snapshot));
	}

	#tell(say: (observer: SnapshotObserver<S>) => void): void {
		// A copy, because an observer may stop or start watches while it is told.
		for (const observer of [...this.observers]) {
			if (!this.observers.has(observer)) continue;
			try {
				say(observer);
			} catch (fault) {
				// One reader's fault is raised where the process hears of it, and costs no other reader its change.
				queueMicrotask(() => {
					throw fault;
				});
			}
		}
	}
}

function takeAll<T>(set: Set<T>): T[] {
	const all = [...set];
	set.clear();
	return all;
}
