import type { RegistrationCatalogue, Sighting } from '../../foundation/registration-place.ts';

/** Services whose registrations are watched in the registry. The end of a place is found by the next renewal for those beyond it. */
const WATCHED_MAX = 32;

/** What is watched, and for whom. */
export interface WatchedService {
	readonly service: string;
	readonly owner: string;
	/** Those with the same share their part of the watches. */
	readonly share: string;
}

/** What {@link ServiceWatches} acts on. */
export interface ServiceWatchesOptions {
	readonly catalogue: RegistrationCatalogue;
	/** The place that should not be asked about this service. */
	readonly avoided: (service: string) => number;
	readonly seen: (service: string, sightings: readonly Sighting[]) => void;
	/** It is watched no longer: what was seen of it is no longer news. */
	readonly ended: (service: string) => void;
}

interface Watch extends WatchedService {
	readonly end: () => void;
	sightings: readonly Sighting[];
}

/**
 * Watches of the services of registrations, as many as there may be: shared evenly between those who want them, and given to one that
 * waits when they become free. They make a move fast; nothing that a move needs is known by them alone.
 */
export class ServiceWatches {
	readonly #options: ServiceWatchesOptions;
	readonly #watched = new Map<string, Watch>();
	/** In the order of their claims: one for each service that has a registration. */
	readonly #waiting = new Map<string, WatchedService>();

	constructor(options: ServiceWatchesOptions) {
		this.#options = options;
	}

	/** What the registry published of it last; empty for one that is not watched. */
	sightings(service: string): readonly Sighting[] {
		return this.#watched.get(service)?.sightings ?? [];
	}

	/** Idempotent for each service. */
	want(wanted: WatchedService): void {
		const { service, share } = wanted;
		if (this.#watched.has(service) || this.#waiting.has(service)) return;
		if (this.#watched.size >= WATCHED_MAX) {
			const [richest, count] = this.#richest();
			if (count <= this.#countOf(share) + 1) {
				this.#waiting.set(service, wanted);
				return;
			}
			const last = [...this.#watched.values()].findLast((one) => one.share === richest);
			if (last !== undefined) this.#wait(last);
		}
		this.#start(wanted);
	}

	/** It has no registration any more. */
	unwant(service: string): void {
		this.#waiting.delete(service);
		const watch = this.#watched.get(service);
		if (watch === undefined) return;
		this.#watched.delete(service);
		watch.end();
		const [first, ...others] = this.#waiting.values();
		if (first === undefined) return;
		const next = others.reduce((a, b) => (this.#countOf(b.share) < this.#countOf(a.share) ? b : a), first);
		this.#waiting.delete(next.service);
		this.#start(next);
	}

	/** Idempotent. */
	close(): void {
		for (const { end } of this.#watched.values()) end();
		this.#watched.clear();
		this.#waiting.clear();
	}

	#start(wanted: WatchedService): void {
		const { service, owner } = wanted;
		const { catalogue, avoided, seen } = this.#options;
		const end = catalogue.watch(
			{ service, owner },
			() => avoided(service),
			(sightings) => {
				watch.sightings = sightings;
				seen(service, sightings);
			},
		);
		const watch: Watch = { ...wanted, end, sightings: [] };
		this.#watched.set(service, watch);
	}

	#wait({ end, service, owner, share }: Watch): void {
		this.#watched.delete(service);
		end();
		this.#waiting.set(service, { service, owner, share });
		this.#options.ended(service);
	}

	#countOf(share: string): number {
		return [...this.#watched.values()].filter((one) => one.share === share).length;
	}

	#richest(): readonly [string, number] {
		const counts = new Map<string, number>();
		for (const { share } of this.#watched.values()) counts.set(share, (counts.get(share) ?? 0) + 1);
		return [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), ['', 0] as const);
	}
}
