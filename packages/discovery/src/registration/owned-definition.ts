import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type InstanceDefinition, otherAppError } from '../foundation/registrar.ts';
import { isSameDefinition } from './registration-data.ts';
import type { RegistrationHolder, RegistrationHolders } from './registration-holders.ts';

/** What an {@link OwnedDefinition} needs. */
export interface OwnedDefinitionOptions {
	readonly definition: InstanceDefinition;
	readonly holders: RegistrationHolders;
	readonly clock: Clock;
	/** How long an owner may be away before it loses its ownership, in milliseconds. */
	readonly graceMs: number;
	/** The owner is back, and another client has changed the definition: the other holders must be released. */
	readonly evictOthers: (owner: RegistrationHolder) => void;
}

/** The definition of one instance, and who may change it: while it has several holders, only its owner. */
export class OwnedDefinition {
	readonly #holders: RegistrationHolders;
	readonly #clock: Clock;
	readonly #graceMs: number;
	readonly #evictOthers: (owner: RegistrationHolder) => void;
	readonly #owner: RegistrationOwner;
	#value: InstanceDefinition;
	/** True while the definition is that of a client that came while its owner was away. */
	#isUsurped = false;

	constructor({ definition, holders, clock, graceMs, evictOthers }: OwnedDefinitionOptions) {
		this.#value = definition;
		this.#holders = holders;
		this.#clock = clock;
		this.#graceMs = graceMs;
		this.#evictOthers = evictOthers;
		this.#owner = new RegistrationOwner(graceMs);
	}

	/** The same object while nothing changes. */
	get value(): InstanceDefinition {
		return this.#value;
	}

	/** Throws ACL_DENIED for another app than the one that has registered it. One without an app belongs to its clients. */
	expectApp(app: string | undefined): void {
		if (this.#value.app !== undefined && this.#value.app !== app) throw otherAppError(this.#value.id);
	}

	/**
	 * Throws BAD_REQUEST if this client may not define it so: while it has several holders, only its owner may change it.
	 */
	expectDefinable(definition: InstanceDefinition, holder: RegistrationHolder): void {
		const isThere = this.#owner.isThere(this.#clock.now());
		if (isSameDefinition(this.#value, definition) || (isThere && this.#owner.is(holder))) return;
		if (!this.#holders.hasOthersThan(holder)) return;
		const what =
			definition.service === this.#value.service ? 'with another definition' : `for the service ${this.#value.service}`;
		const message = `data.id ${this.#value.id} is registered ${what} by another client: give this instance its own id`;
		throw new SpockError('BAD_REQUEST', message, { details: { path: 'id' } });
	}

	/** Throws ACL_DENIED if this client may not report on it. */
	expectOwn(holder: RegistrationHolder): void {
		if (this.#holders.has(holder)) return;
		if (this.#owner.isThere(this.#clock.now()) && this.#owner.is(holder)) return;
		if (this.#holders.isAway(holder, this.#clock.now(), this.#graceMs)) return;
		// Any client may end an instance that outlives its client, or that a client without a secret has left.
		const isFree = this.#value.bind === 'sidecar' || this.#owner.identity === undefined;
		if (this.#holders.size === 0 && isFree) return;
		const message = `${this.#value.id} is registered by another client; only that client may report on it or deregister it`;
		throw new SpockError('ACL_DENIED', message, { details: { id: this.#value.id } });
	}

	/** Sets the definition and its owner; `isNew` for the first claim. */
	define(definition: InstanceDefinition, holder: RegistrationHolder, isNew: boolean): void {
		const isThere = this.#owner.isThere(this.#clock.now());
		const isOwner = isThere && this.#owner.is(holder);
		const isOther = !isSameDefinition(this.#value, definition);
		// The owner is back, and another client has changed the definition meanwhile.
		if (isOwner && isOther && this.#isUsurped) this.#evictOthers(holder);
		if (isOther || isOwner) this.#isUsurped = isThere && !isOwner;
		if (isOwner || (!isThere && (isOther || !this.#holders.hasOthersThan(holder)))) this.#owner.set(holder);
		// One without an app is that of its next client, once it has neither an owner nor another holder.
		const isAppNew = this.#value.app === undefined && definition.app !== undefined;
		const takesApp = isAppNew && (isOwner || (!isThere && !this.#holders.hasOthersThan(holder)));
		const { app: _, ...others } = definition;
		const owned = isAppNew && !takesApp ? others : definition;
		// If nothing has changed, keep the object that the registry knows: a reconnect is then one report.
		if (isOther || takesApp || this.#value.isPartial === true || isNew) this.#sign(owned);
	}

	/** Found at the registry, from before a restart. */
	found(): void {
		this.#owner.found(this.#value.claimant, this.#clock.now());
	}

	/** Registered by an earlier sidecar for its owner, which may come back after the present holders. */
	foundOwner(definition: InstanceDefinition): void {
		const { claimant } = definition;
		if (claimant === undefined || this.#owner.identity === claimant) return;
		this.#owner.found(claimant, this.#clock.now());
		this.#isUsurped = !isSameDefinition(this.#value, definition);
		this.#sign(this.#value);
	}

	/** An owner that has not come back within the grace leaves it to the present holders. */
	inherit(): void {
		const { first } = this.#holders;
		if (first === undefined) return;
		if (!this.#owner.isThere(this.#clock.now())) {
			this.#owner.set(first);
			this.#isUsurped = false;
		}
		if (this.#value.claimant !== this.#owner.identity) this.#sign(this.#value);
	}

	/** The connection of this holder is gone. */
	left(holder: RegistrationHolder): void {
		this.#owner.left(holder, this.#clock.now());
	}

	/** Ends the ownership; with a holder, only if that is the owner. */
	disown(holder?: RegistrationHolder): void {
		if (holder === undefined || this.#owner.is(holder)) this.#owner.clear();
	}

	#sign(definition: InstanceDefinition): void {
		const { claimant: _, ...unsigned } = definition;
		const { identity } = this.#owner;
		this.#value = { ...unsigned, ...(identity !== undefined && { claimant: identity }) };
	}
}

/**
 * The owner of a definition: the client that registered it first. It is recognised by its connection, or by its identity when it comes
 * back. It loses the ownership if it does not come back within the grace.
 */
class RegistrationOwner {
	readonly #graceMs: number;
	#holder: RegistrationHolder | undefined;
	#identity: string | undefined;
	#leftAtMs: number | undefined;

	constructor(graceMs: number) {
		this.#graceMs = graceMs;
	}

	/** By which a later process recognises it. */
	get identity(): string | undefined {
		return this.#identity;
	}

	is(holder: RegistrationHolder): boolean {
		return this.#holder === holder || (this.#identity !== undefined && this.#identity === holder.identity);
	}

	/** True while the owner is connected, or away for less than the grace. */
	isThere(nowMs: number): boolean {
		if (this.#leftAtMs !== undefined && nowMs - this.#leftAtMs >= this.#graceMs) this.clear();
		return this.#holder !== undefined || this.#identity !== undefined;
	}

	set(holder: RegistrationHolder): void {
		this.#holder = holder;
		this.#identity = holder.identity;
		this.#leftAtMs = undefined;
	}

	/** Its connection is gone. Without an identity it could not be recognised again. */
	left(holder: RegistrationHolder, nowMs: number): void {
		if (this.#holder === holder) this.found(this.#identity, nowMs);
	}

	/** It was registered before this process started. */
	found(identity: string | undefined, nowMs: number): void {
		this.#holder = undefined;
		this.#identity = identity;
		this.#leftAtMs = nowMs;
	}

	clear(): void {
		this.#holder = undefined;
		this.#identity = undefined;
		this.#leftAtMs = undefined;
	}
}
