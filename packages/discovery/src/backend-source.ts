import {
	type BackendStatus,
	type CallOptions,
	type KeyEntry,
	type KeyQuery,
	type KeySnapshot,
	type KeySource,
	type KeyWatchStatus,
	type ServiceInstance,
	type ServiceList,
	type ServiceListEntry,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type SnapshotObserver,
	type SourceWatch,
	SpockError,
	type WatchStatus,
} from '@spock/protocol';
import { type Clock, durationMsOption, integerOption, systemClock } from '@spock/protocol/internal';

import { AnswerCache } from './answer-cache.ts';
import type { Backend } from './backend.ts';
import type { DiscoveryListener } from './discovery-event.ts';
import { keyKind, keyWatchStatus } from './key-kind.ts';
import { serviceKind, serviceWatchStatus } from './service-kind.ts';

/** An entry that nobody reads ends after this. */
export const DEFAULT_IDLE_TTL_MS = 60_000;
/** Most different questions at once. */
export const DEFAULT_ENTRIES_MAX = 10_000;
/** Most different questions about keys at once. An answer may take a megabyte: this bounds them to one gigabyte. */
export const DEFAULT_KEY_ENTRIES_MAX = 1000;
/** How long a read waits for the first answer of a registry. */
export const DEFAULT_FIRST_ANSWER_MS = 5000;
/** Datacenters whose last list of services is remembered. */
const LISTS_MAX = 64;

/** Options of {@link BackendSource}. */
export interface BackendSourceOptions {
	/** Where answers come from. Owned by the source from now on: `close` closes it. */
	readonly backend: Backend;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** How long a question that nobody asks any more is still watched, in milliseconds. Default 60000. */
	readonly idleTtlMs?: number;
	/** Most different questions at once; the next one is OVERLOADED. Default 10000. */
	readonly entriesMax?: number;
	/** Most different questions about keys at once; the next one is OVERLOADED. Default 1000. */
	readonly keyEntriesMax?: number;
	/** Age past which a last known snapshot is UNAVAILABLE, in milliseconds. Default: no limit. */
	readonly staleMaxMs?: number;
	/** How long a read waits for the first answer before it is NOT_READY, in milliseconds. Default 5000. */
	readonly firstAnswerMs?: number;
	/** Told what happens, to log and count it. */
	readonly onEvent?: DiscoveryListener;
}

/** A cache over a backend: what a sidecar serves from, and a client's direct mode. */
export class BackendSource implements ServiceSource {
	readonly name: string;
	readonly #backend: Backend;
	readonly #clock: Clock;
	readonly #cache: AnswerCache<ServiceQuery, readonly ServiceInstance[], ServiceSnapshot>;
	/** Undefined where the registry has no keys. */
	readonly #keys: AnswerCache<KeyQuery, readonly KeyEntry[], KeySnapshot> | undefined;
	readonly #lists = new Map<string, { readonly services: readonly ServiceListEntry[]; readonly atMs: number }>();

	constructor(options: BackendSourceOptions) {
		const { backend, clock = systemClock, onEvent = () => undefined } = options;
		this.name = backend.name;
		this.#backend = backend;
		this.#clock = clock;
		const common = {
			clock,
			onEvent,
			idleTtlMs: durationMsOption('idleTtlMs', options.idleTtlMs ?? DEFAULT_IDLE_TTL_MS),
			firstAnswerMs: durationMsOption('firstAnswerMs', options.firstAnswerMs ?? DEFAULT_FIRST_ANSWER_MS),
			staleMaxMs:
				options.staleMaxMs === undefined
					? Number.POSITIVE_INFINITY
					: durationMsOption('staleMaxMs', options.staleMaxMs),
		};
		const entriesMax = integerOption('entriesMax', options.entriesMax ?? DEFAULT_ENTRIES_MAX, 1, 10_000_000);
		this.#cache = new AnswerCache({ ...common, entriesMax, kind: serviceKind(backend) });
		const keyEntriesMax = integerOption(
			'keyEntriesMax',
			options.keyEntriesMax ?? DEFAULT_KEY_ENTRIES_MAX,
			1,
			10_000_000,
		);
		const watchKey = backend.watchKey?.bind(backend);
		this.#keys = watchKey && new AnswerCache({ ...common, entriesMax: keyEntriesMax, kind: keyKind(watchKey) });
	}

	get keys(): KeySource | undefined {
		return this.#keys;
	}

	peek(query: ServiceQuery): ServiceSnapshot | undefined {
		return this.#cache.peek(query);
	}

	get(query: ServiceQuery, options?: CallOptions): Promise<ServiceSnapshot> {
		return this.#cache.get(query, options);
	}

	watch(query: ServiceQuery, observer: SnapshotObserver): SourceWatch {
		return this.#cache.watch(query, observer);
	}

	/** The names of all services; the last list with its age when the registry does not answer. */
	async list(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<ServiceList> {
		const key = query.datacenter ?? '';
		try {
			const services = await this.#backend.list(query, options);
			if (this.#lists.size >= LISTS_MAX && !this.#lists.has(key)) this.#lists.clear();
			this.#lists.set(key, { services, atMs: this.#clock.now() });
			return { services, source: 'live', ageMs: 0 };
		} catch (error) {
			const known = this.#lists.get(key);
			// Only an unreachable registry is bridged; a caller that gave up, or is denied, is told so.
			if (known === undefined || !SpockError.is(error, 'UNAVAILABLE')) throw error;
			return { services: known.services, source: 'last-known-good', ageMs: this.#clock.now() - known.atMs };
		}
	}

	/** Every question being watched and what is known of it. */
	watches(): WatchStatus[] {
		return this.#cache.watches(serviceWatchStatus);
	}

	/** Every question about keys being watched and what is known of it, values left out. */
	keyWatches(): KeyWatchStatus[] {
		return this.#keys?.watches(keyWatchStatus) ?? [];
	}

	/** The health of the registry. */
	status(): BackendStatus {
		return this.#backend.status();
	}

	async close(): Promise<void> {
		this.#cache.close();
		this.#keys?.close();
		await this.#backend.close();
	}
}
