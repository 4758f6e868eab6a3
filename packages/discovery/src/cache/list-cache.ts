import {
	type AskedBy,
	type CallOptions,
	type ServiceList,
	type ServiceListEntry,
	type SnapshotSource,
	SpockError,
} from '@spock/protocol';
import { ageClockOf, type Clock, isFinal, offAbort, onAbort } from '@spock/protocol/internal';
import { type Backend, listWithAge } from '../foundation/backend.ts';
import type { DiscoveryListener } from '../foundation/discovery-event.ts';
import { abortedError, pause, settledWithin, throwIfAborted } from '../foundation/waiting.ts';
import type { StateStore } from '../state/state-store.ts';
import { storedAgeMs } from './kept-answer.ts';
import { type ListTurn, ListTurns } from './list-turns.ts';

/** Datacenters whose last list of services is cached. */
const LISTS_MAX = 64;

/** A hanging disk must not delay the answer that no list is known. */
const LOAD_MS_MAX = 2000;

/** A list is reused for this time. */
export const LIST_REUSED_MS = 1000;
/** A caller that waits has a list that failed requested again after this. */
const ASK_AGAIN_MS = 500;
/** What a {@link ListCache} needs. */
export interface ListCacheOptions {
	readonly backend: Backend;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
	/** Where lists are stored for the next process; undefined if nowhere. */
	readonly state: StateStore | undefined;
}

interface KnownList {
	readonly services: readonly ServiceListEntry[];
	/** When the registry was asked for it; -Infinity for a list of an earlier process. */
	readonly askedAtMs: number;
	/** Since when its oldest part is not confirmed. */
	readonly verifiedAtMs: number;
	/** Whether the registry called it live. */
	readonly isLive: boolean;
}

/** One query, shared by all callers that wait for it. */
interface Asked {
	readonly list: Promise<KnownList>;
	readonly end: AbortController;
	/** Undefined for the registry's own datacenter, which never waits. */
	readonly turn: ListTurn | undefined;
	waiting: number;
}

/** The names of all services; the last known ones while the registry does not answer. */
export class ListCache {
	readonly #options: ListCacheOptions;
	readonly #lists = new Map<string, KnownList>();
	readonly #asked = new Map<string, Asked>();
	readonly #turns: ListTurns;

	constructor(options: ListCacheOptions) {
		this.#options = options;
		this.#turns = new ListTurns(options.backend.queriesMax?.lists);
	}

	/**
	 * Queries the registry, once for all concurrent callers. Serves the last list if the registry is unreachable, but not to a denied caller;
	 * without one a caller with a time-out waits for the registry until then. A list is never older than a second when it is live.
	 */
	async list(query: { readonly datacenter?: string }, options: CallOptions & AskedBy): Promise<ServiceList> {
		const { clock } = this.#options;
		const { signal, timeoutMs, asker } = options;
		const oldestAtMs = ageClockOf(clock).now() - LIST_REUSED_MS;
		const endMs = timeoutMs === undefined ? undefined : clock.now() + timeoutMs;
		const key = query.datacenter ?? '';
		for (;;) {
			throwIfAborted(signal);
			const before = this.#lists.get(key);
			if (before !== undefined && ageClockOf(clock).now() - before.askedAtMs < LIST_REUSED_MS)
				return this.#reply(before);
			try {
				const list = await this.#wait(this.#ask(key, query, asker), options, endMs);
				// A query that was in flight for longer than a list is reused: the next one is this caller's.
				if (list.askedAtMs <= oldestAtMs) continue;
				return this.#reply(list);
			} catch (reason) {
				const error = SpockError.from(reason);
				if (isFinal(error)) throw error;
				const known = error.code === 'UNAVAILABLE' ? await this.#lastKnown(key) : undefined;
				if (known !== undefined) return this.#reply(known, 'last-known-good');
				if (endMs === undefined || endMs - clock.now() <= ASK_AGAIN_MS) throw error;
			}
			await pause(clock, ASK_AGAIN_MS, signal);
		}
	}

	async #lastKnown(key: string): Promise<KnownList | undefined> {
		const known = this.#lists.get(key);
		if (known !== undefined) return known;
		const restored = await this.#restore(key);
		// A newer one may have come meanwhile.
		return this.#lists.get(key) ?? restored;
	}

	#reply(list: KnownList, source: SnapshotSource = list.isLive ? 'live' : 'last-known-good'): ServiceList {
		const { services, verifiedAtMs } = list;
		const { clock } = this.#options;
		// Rather older than younger.
		const ageMs = Math.ceil(ageClockOf(clock).now() - verifiedAtMs);
		const verifiedAt = Math.floor(clock.wallNow() - ageMs);
		return { services, source, ageMs, verifiedAt };
	}

	/** The query in flight, or a new one. Throws OVERLOADED if too many datacenters wait. */
	#ask(key: string, query: { readonly datacenter?: string }, asker: AskedBy['asker']): Asked {
		const known = this.#asked.get(key);
		if (known !== undefined) {
			known.turn?.join(asker);
			return known;
		}
		const turn = key === '' ? undefined : this.#turns.claim(asker);
		const end = new AbortController();
		const ask = (): Promise<KnownList> => this.#query(key, query, end.signal);
		const list = (turn === undefined ? ask() : this.#turns.run(turn, end.signal, ask)).finally(() => {
			if (this.#asked.get(key) === asked) this.#asked.delete(key);
		});
		// Waiting callers get the error; by then there may be none.
		list.catch(() => undefined);
		const asked: Asked = { list, end, turn, waiting: 0 };
		this.#asked.set(key, asked);
		return asked;
	}

	async #query(key: string, query: { readonly datacenter?: string }, signal: AbortSignal): Promise<KnownList> {
		throwIfAborted(signal);
		const { backend, clock, state } = this.#options;
		// As old as the query: a change while it was in flight may be missing from the answer.
		const askedAtMs = ageClockOf(clock).now();
		const answer = await listWithAge(backend, query, { signal });
		const verifiedAtMs = askedAtMs - answer.ageMs;
		// The last list of another sidecar may be older than the one that is known here.
		const known = answer.isLive ? undefined : await this.#lastKnown(key);
		if (known !== undefined && known.verifiedAtMs > verifiedAtMs) {
			const again = { ...known, askedAtMs, isLive: false };
			this.#remember(key, again);
			return again;
		}
		const services = this.#sameOr(key, answer.services);
		const list = { services, askedAtMs, verifiedAtMs, isLive: answer.isLive };
		this.#remember(key, list);
		state?.keepList(key, services, Math.round(clock.wallNow() - (ageClockOf(clock).now() - verifiedAtMs)));
		return list;
	}

	/** Waits until this caller's deadline. The query ends when no caller waits for it any more. */
	async #wait(asked: Asked, { signal, timeoutMs }: CallOptions, endMs: number | undefined): Promise<KnownList> {
		const { clock } = this.#options;
		asked.waiting++;
		let giveUp: (error: SpockError) => void = () => undefined;
		const givenUp = new Promise<never>((_resolve, reject) => {
			giveUp = reject;
		});
		const abort = (): void => giveUp(abortedError(signal));
		const late = (): void =>
			giveUp(new SpockError('UNAVAILABLE', `the registry has not listed its services within ${timeoutMs} ms`));
		const timer = endMs === undefined ? undefined : clock.setTimeout(late, endMs - clock.now());
		if (signal !== undefined) onAbort(signal, abort);
		try {
			return await Promise.race([asked.list, givenUp]);
		} finally {
			clock.clearTimeout(timer);
			offAbort(signal, abort);
			if (--asked.waiting === 0) {
				for (const [key, one] of this.#asked) if (one === asked) this.#asked.delete(key);
				asked.end.abort();
			}
		}
	}

	/** The known list if it is equal, which is then not written again. */
	#sameOr(key: string, services: readonly ServiceListEntry[]): readonly ServiceListEntry[] {
		const known = this.#lists.get(key)?.services;
		return known !== undefined && isSameServices(known, services) ? known : services;
	}

	async #restore(key: string): Promise<KnownList | undefined> {
		const { clock, state, onEvent } = this.#options;
		const kept = state && (await settledWithin(clock, LOAD_MS_MAX, state.loadList(key)));
		if (kept === undefined) return undefined;
		const ageMs = storedAgeMs(kept.verifiedAt, clock.wallNow());
		const verifiedAtMs = ageClockOf(clock).now() - ageMs;
		const known = { services: kept.services, askedAtMs: Number.NEGATIVE_INFINITY, verifiedAtMs, isLive: false };
		// A list that has come while the file was read is newer.
		if (this.#lists.has(key)) return undefined;
		onEvent({ type: 'state-restored', what: 'the list of services', ageMs });
		this.#remember(key, known);
		return known;
	}

	#remember(key: string, list: KnownList): void {
		if (this.#lists.size >= LISTS_MAX && !this.#lists.has(key)) this.#lists.clear();
		this.#lists.set(key, list);
	}
}

function isSameServices(before: readonly ServiceListEntry[], after: readonly ServiceListEntry[]): boolean {
	if (before.length !== after.length) return false;
	return before.every(({ name, tags }, index) => {
		const other = after[index] as ServiceListEntry;
		return name === other.name && tags.length === other.tags.length && tags.every((tag, at) => tag === other.tags[at]);
	});
}
