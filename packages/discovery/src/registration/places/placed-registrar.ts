import type { SpockError } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import {
	type InstanceDefinition,
	type InstanceHealth,
	type OwnedInstance,
	otherAppError,
	type Registrar,
	type RegistrationTerms,
	shareOf,
} from '../../foundation/registrar.ts';
import type { RegistrationCatalogue, RegistrationPlace, Sighting } from '../../foundation/registration-place.ts';
import { NodeHosts } from './node-hosts.ts';
import {
	blockedError,
	hosted,
	isAway,
	isBlocked,
	isElsewhere,
	isTwin,
	lossOf,
	maintenanceOf,
	type Placed,
	type PlacedFacts,
	registerAnew,
	unseenError,
	type View,
} from './placed-instance.ts';
import { ServiceWatches } from './service-watches.ts';
import { StrayRegistrations } from './stray-registrations.ts';

/** How long a registration may stand where it could not be taken out, if the terms of it are unknown. */
const STRAY_MS = 900_000;

/** What a {@link PlacedRegistrar} needs. */
export interface PlacedRegistrarOptions {
	/** At least one, the preferred one first. */
	readonly places: readonly RegistrationPlace[];
	readonly catalogue: RegistrationCatalogue;
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random?: Random | undefined;
}

/**
 * Registers each instance at one of several places, and at the next one when that place has failed, left, or cannot be reached and is
 * no longer published as well. An instance is never published as well at two places because of a move: what cannot be seen in the
 * registry is not moved. What an earlier place still has when it returns is taken out there. The creator closes it.
 */
export class PlacedRegistrar implements Registrar {
	readonly #places: readonly RegistrationPlace[];
	readonly #catalogue: RegistrationCatalogue;
	readonly #strays: StrayRegistrations;
	readonly #placed = new Map<string, Placed>();
	readonly #watches: ServiceWatches;
	readonly #nodeHosts: NodeHosts;
	/** Ids that are being written: what the registry publishes of them meanwhile may be what is being written. */
	readonly #writing = new Set<string>();
	readonly #onLost = new Set<(id: string) => void>();
	#strayMs = STRAY_MS;
	/** On whose behalf this was asked last. */
	#owner: string | undefined;

	constructor({ places, catalogue, clock, random }: PlacedRegistrarOptions) {
		this.#places = places;
		this.#catalogue = catalogue;
		this.#strays = new StrayRegistrations(places, clock, random);
		this.#nodeHosts = new NodeHosts(catalogue, clock);
		this.#watches = new ServiceWatches({
			catalogue,
			avoided: (service) => this.#of(service)[0]?.[1].place ?? 0,
			seen: (service, sightings) => {
				for (const [id, placed] of this.#of(service)) this.#seen(id, placed, sightings);
			},
			ended: (service) => {
				for (const [, placed] of this.#of(service)) placed.seen = undefined;
			},
		});
	}

	onLost(listener: (id: string) => void): () => void {
		this.#onLost.add(listener);
		return () => this.#onLost.delete(listener);
	}

	async register(
		definition: InstanceDefinition,
		health: InstanceHealth,
		terms: RegistrationTerms,
	): Promise<string | null> {
		const { id, service } = definition;
		this.#writing.add(id);
		try {
			return await this.#register(definition, health, terms);
		} finally {
			this.#writing.delete(id);
			const placed = this.#placed.get(id);
			if (placed !== undefined) this.#seen(id, placed, this.#watches.sightings(service));
		}
	}

	async #register(
		definition: InstanceDefinition,
		health: InstanceHealth,
		terms: RegistrationTerms,
	): Promise<string | null> {
		const { id, service, app } = definition;
		const { owner, ttlMs, deregisterAfterMs } = terms;
		this.#owner = owner;
		this.#strayMs = ttlMs + deregisterAfterMs;
		const before = this.#placed.get(id);
		const at = { host: definition.host, port: definition.port };
		const look = async (avoided: number): Promise<View> => {
			const all = await this.#view({ id, service, owner }, avoided);
			if (all?.some((one) => one.app !== undefined && one.app !== app)) throw otherAppError(id);
			return all?.filter((one) => one.node === before?.node || isTwin(one, at));
		};
		let view = await look(before?.place ?? 0);
		const tried: number[] = [];
		let failure: SpockError | undefined;
		let blocked: SpockError | undefined;
		for (const place of this.#order(before, view)) {
			// What was written at the place before may have arrived, although its answer was lost.
			if (tried.length > 0) view = await look(tried.at(-1) ?? 0);
			try {
				await this.#expectFree(place, definition, owner, view, failure);
				await this.#strays.claim(id, place);
				const isMoved = before !== undefined && before.place !== place;
				const isHosted = before !== undefined && (isMoved || before.host !== undefined);
				const kept = isHosted ? hosted(definition, before, view, this.#nodeHosts.of(before)) : definition;
				const maintenance = isMoved
					? maintenanceOf(before, view, this.#places[before.place]?.maintenanceOf(id))
					: undefined;
				const instance = await (this.#places[place] as RegistrationPlace).register(kept, health, terms, maintenance);
				const host = definition.host === undefined ? kept.host : undefined;
				const placed = this.#place(id, { place, service, owner, share: shareOf(definition), instance, at, host });
				if (this.#places.length > 1) await this.#nodeHosts.learn(placed);
				if (isMoved) tried.push(before.place);
				for (const other of tried) this.#strays.add({ id, owner }, other, this.#strayMs);
				this.#strays.sweep(id);
				this.#takeOutElsewhere(id, placed, view ?? []);
				return instance;
			} catch (error) {
				if (isBlocked(error)) {
					blocked ??= error;
				} else {
					if (!isAway(error)) throw error;
					failure ??= error;
					tried.push(place);
				}
			}
		}
		throw blocked ?? failure;
	}

	async report(id: string, health: InstanceHealth): Promise<void> {
		const placed = this.#placed.get(id);
		if (placed?.isLost) throw registerAnew(id, placed);
		try {
			const written = (this.#places[placed?.place ?? 0] as RegistrationPlace).report(id, health);
			// A place that hangs is not waited for when it is known that no reader is sent to it.
			await (placed === undefined ? written : Promise.race([written, lossOf(id, placed)]));
			if (placed === undefined) return;
			placed.isAway = false;
			// A renewal does not wait for it, and it does not reject.
			if (this.#places.length > 1) void this.#nodeHosts.learn(placed);
		} catch (error) {
			if (placed === undefined || !isAway(error)) throw error;
			placed.isAway = true;
			if (!(await this.#isUnserved(id, placed))) throw error;
			placed.isLost = true;
			throw registerAnew(id, placed);
		}
	}

	async deregister(id: string): Promise<void> {
		const placed = this.#placed.get(id);
		const owner = placed?.owner ?? this.#owner;
		const places = placed === undefined ? [...this.#places.keys()] : [placed.place];
		const away: number[] = [];
		let failure: SpockError | undefined;
		for (const place of places) {
			try {
				await (this.#places[place] as RegistrationPlace).deregister(id, owner);
			} catch (error) {
				if (this.#places.length === 1 || !isAway(error)) throw error;
				failure ??= error;
				away.push(place);
			}
		}
		// Where it is registered must answer, or no reader may be sent to it. One that was never registered is looked for wherever it can be.
		const isOut = placed === undefined ? away.length < places.length : failure && (await this.#isUnserved(id, placed));
		if (failure !== undefined && !isOut) throw failure;
		if (owner !== undefined) for (const place of away) this.#strays.add({ id, owner }, place, this.#strayMs);
		this.#strays.sweep(id);
		this.#placed.delete(id);
		if (placed !== undefined) this.#unwatch(placed.service);
	}

	/** At every place that answers: one that does not is no reason to wait for it, and what it has is seen in the registry. */
	async owned(owner: string): Promise<readonly OwnedInstance[]> {
		this.#owner = owner;
		const answers = await Promise.allSettled(this.#places.map((place) => place.owned(owner)));
		const found = new Map<string, OwnedInstance>();
		for (const [place, answer] of answers.entries()) {
			if (answer.status === 'rejected') continue;
			for (const one of answer.value) await this.#found(found, place, one, owner);
		}
		const [first] = answers;
		if (first?.status === 'rejected' && answers.every(({ status }) => status === 'rejected')) throw first.reason;
		return [...found.values()];
	}

	/** Ends every watch and timer; idempotent. */
	close(): void {
		this.#strays.close();
		this.#watches.close();
		this.#onLost.clear();
	}

	/** Of two places that have it, the one that is served. */
	async #found(found: Map<string, OwnedInstance>, place: number, one: OwnedInstance, owner: string): Promise<void> {
		const { id, service, host, port } = one.definition;
		const known = this.#placed.get(id);
		if (known !== undefined && known.place !== place) {
			const isOther = found.has(id) || known.isLost === false;
			const view = isOther ? await this.#view({ id, service, owner }, known.place) : [];
			const isKnownServed = view?.find(({ node }) => node === known.node)?.isServed !== false;
			this.#strays.add({ id, owner }, isKnownServed ? place : known.place, this.#strayMs);
			this.#strays.sweep(id);
			if (isKnownServed) return;
		}
		found.set(id, one);
		if (known?.place === place) return;
		const at = { host, port };
		const share = shareOf(one.definition);
		const kept = place === 0 ? undefined : host;
		const placed = this.#place(id, { place, service, owner, share, instance: one.instance, at, host: kept });
		if (this.#places.length > 1) await this.#nodeHosts.learn(placed);
	}

	#place(id: string, { instance, ...facts }: PlacedFacts): Placed {
		const node = instance?.endsWith(`/${id}`) ? instance.slice(0, -id.length - 1) : null;
		const before = this.#placed.get(id);
		const placed: Placed = { ...facts, node, seen: undefined, isLost: false, isAway: false };
		this.#placed.set(id, placed);
		if (before !== undefined && before.service !== facts.service) this.#unwatch(before.service);
		if (this.#places.length > 1) this.#watches.want(facts);
		return placed;
	}

	/** The places in the order in which they are tried. */
	#order(before: Placed | undefined, view: View): readonly number[] {
		const all = [...this.#places.keys()];
		if (before === undefined) return all;
		const own = view?.find(({ node }) => node === before.node);
		const others = all.filter((place) => place !== before.place);
		const isLost = own === undefined ? before.isLost : !own.isServed && (own.isNodeLost || before.isAway);
		return isLost ? [...others, before.place] : [before.place, ...others];
	}

	/** Throws UNAVAILABLE where a reader would find it twice, or where that is unknown. */
	async #expectFree(
		place: number,
		{ id }: InstanceDefinition,
		owner: string,
		view: View,
		failure: SpockError | undefined,
	): Promise<void> {
		const before = this.#placed.get(id);
		if (this.#places.length === 1 || place === before?.place) return;
		if (view === undefined) {
			// As with one address: where it was never registered, it is registered at the first.
			if (before === undefined && place === 0) return;
			throw failure ?? unseenError(id);
		}
		const served = view.filter(({ isServed }) => isServed);
		if (served.length === 0) return;
		const node = await (this.#places[place] as RegistrationPlace).nodeOf(id, owner);
		const other = served.find((one) => one.node !== node);
		if (other === undefined) return;
		throw blockedError(id, owner, other.node, failure);
	}

	async #view(name: { id: string; service: string; owner: string }, avoided: number): Promise<View> {
		if (this.#places.length === 1) return [];
		try {
			return await this.#catalogue.look(name, avoided);
		} catch {
			// Where it must be known, the caller throws.
			return undefined;
		}
	}

	/** True if the registry shows that no reader is sent to it. */
	async #isUnserved(id: string, { service, owner, place, node }: Placed): Promise<boolean> {
		if (this.#places.length === 1) return false;
		const view = await this.#view({ id, service, owner }, place);
		return view !== undefined && view.find((one) => one.node === node)?.isServed !== true;
	}

	#unwatch(service: string): void {
		if (this.#of(service).length === 0) this.#watches.unwant(service);
	}

	#of(service: string): [string, Placed][] {
		return [...this.#placed].filter(([, placed]) => placed.service === service);
	}

	#seen(id: string, placed: Placed, sightings: readonly Sighting[]): void {
		if (this.#writing.has(id)) return;
		const own = sightings.find((one) => one.id === id && one.node === placed.node);
		const before = placed.seen;
		placed.seen = own ?? before;
		this.#takeOutElsewhere(id, placed, sightings);
		const isExpired = own !== undefined && !own.isServed && placed.isAway;
		if (own?.isNodeLost || isExpired) this.#lost(id, placed);
		else if (own === undefined && before !== undefined && placed.node !== null) this.#isGone(id, placed, placed.node);
	}

	/** As an earlier process may have left it, or a disk brings it back. */
	#takeOutElsewhere(id: string, placed: Placed, sightings: readonly Sighting[]): void {
		const { owner, place: own } = placed;
		if (!isElsewhere(id, placed, sightings, this.#nodeHosts.of(placed))) return;
		for (const place of this.#places.keys()) if (place !== own) this.#strays.add({ id, owner }, place, this.#strayMs);
		this.#strays.sweep(id);
	}

	/** It is published no longer: its agent has lost it, which a renewal finds, or its node has left. */
	#isGone(id: string, placed: Placed, node: string): void {
		this.#catalogue.isNodeWell(node, placed.place).then(
			(isWell) => (isWell ? this.#rewrite(id) : this.#lost(id, placed)),
			// The next change, or the next renewal, looks again.
			() => undefined,
		);
	}

	#lost(id: string, placed: Placed): void {
		if (this.#placed.get(id) !== placed || placed.isLost) return;
		placed.isLost = true;
		placed.onLost?.();
		this.#rewrite(id);
	}

	#rewrite(id: string): void {
		for (const listener of this.#onLost) listener(id);
	}
}
