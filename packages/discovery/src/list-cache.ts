import { type CallOptions, type ServiceList, type ServiceListEntry, SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { Backend } from './backend.ts';
import type { DiscoveryListener } from './discovery-event.ts';
import type { StateStore } from './state/state-store.ts';
import { within } from './within.ts';

/** Datacenters whose last list of services is remembered. */
const LISTS_MAX = 64;

/** A disk that hangs must not hold up the answer that there is none. */
const LOAD_MS_MAX = 2000;

/** What a {@link ListCache} needs. */
export interface ListCacheOptions {
	readonly backend: Backend;
	readonly clock: Clock;
	readonly onEvent: DiscoveryListener;
	/** Where lists outlive the process; undefined if nowhere. */
	readonly state: StateStore | undefined;
}

interface KnownList {
	readonly services: readonly ServiceListEntry[];
	readonly verifiedAtMs: number;
}

/** The names of all services, and the last ones known for when the registry does not answer. */
export class ListCache {
	readonly #options: ListCacheOptions;
	readonly #lists = new Map<string, KnownList>();

	constructor(options: ListCacheOptions) {
		this.#options = options;
	}

	/** Asks the registry. Only an unreachable one is bridged: a caller that gave up, or is denied, is told so. */
	async list(query: { readonly datacenter?: string }, options: CallOptions): Promise<ServiceList> {
		const { backend, clock, state } = this.#options;
		const key = query.datacenter ?? '';
		try {
			const services = this.#sameOr(key, await backend.list(query, options));
			const verifiedAt = Math.round(clock.wallNow());
			this.#remember(key, { services, verifiedAtMs: clock.now() });
			state?.keepList(key, services, verifiedAt);
			return { services, source: 'live', ageMs: 0, verifiedAt };
		} catch (error) {
			if (!SpockError.is(error, 'UNAVAILABLE')) throw error;
			const known = this.#lists.get(key) ?? (await this.#restore(key));
			if (known === undefined) throw error;
			const ageMs = clock.now() - known.verifiedAtMs;
			const verifiedAt = Math.round(clock.wallNow() - ageMs);
			return { services: known.services, source: 'last-known-good', ageMs, verifiedAt };
		}
	}

	/** The list that is known, if it says the same: it is then not written again. */
	#sameOr(key: string, services: readonly ServiceListEntry[]): readonly ServiceListEntry[] {
		const known = this.#lists.get(key)?.services;
		return known !== undefined && isSameServices(known, services) ? known : services;
	}

	async #restore(key: string): Promise<KnownList | undefined> {
		const { clock, state, onEvent } = this.#options;
		const kept = state && (await within(clock, LOAD_MS_MAX, state.loadList(key)));
		if (kept === undefined) return undefined;
		const ageMs = Math.max(0, clock.wallNow() - kept.verifiedAt);
		const known = { services: kept.services, verifiedAtMs: clock.now() - ageMs };
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
