import { SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { InstanceDefinition } from '../foundation/registrar.ts';
import { isSameDefinition } from './registration-data.ts';
import type { RegistrationHolder, RegistrationHolders } from './registration-holders.ts';

/** What an {@link OwnedDefinition} needs. */
export interface OwnedDefinitionOptions {
	readonly definition: InstanceDefinition;
	readonly holders: RegistrationHolders;
	readonly clock: Clock;
	/** An owner that is away for longer owns nothing any more, in milliseconds. */
	readonly graceMs: number;
	/** The owner is back, and finds what somebody else made of it: the others are to let go. */
	readonly evictOthers: (owner: RegistrationHolder) => void;
}

/** What one instance is, and who may change that: while others hold it, its owner alone. */
export class OwnedDefinition {
	readonly #holders: RegistrationHolders;
	readonly #clock: Clock;
	readonly #graceMs: number;
	readonly #evictOthers: (owner: RegistrationHolder) => void;
	readonly #owner: RegistrationOwner;
	#value: InstanceDefinition;
	/** True while the definition is of a client that came while its owner was away. */
	#isUsurped = false;

	constructor({ definition, holders, clock, graceMs, evictOthers }: OwnedDefinitionOptions) {
		this.#value = definition;
		this.#holders = holders;
		this.#clock = clock;
		this.#graceMs = graceMs;
		this.#evictOthers = evictOthers;
		this.#owner = new RegistrationOwner(graceMs);
	}

	/** The very same while nothing has changed. */
	get value(): InstanceDefinition {
		return this.#value;
	}

	/**
	 * Throws BAD_REQUEST if this client may not define it so: while others hold it, its owner alone may change what it is.
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

	/** Throws ACL_DENIED if this client may not say anything of it. */
	expectOwn(holder: RegistrationHolder): void {
		if (this.#holders.has(holder)) return;
		if (this.#owner.isThere(this.#clock.now()) && this.#owner.is(holder)) return;
		if (this.#holders.isAway(holder, this.#clock.now(), this.#graceMs)) return;
		// What outlives its client is for any other one to end; so is what a client has left that has no secret.
		const isFree = this.#value.bind === 'sidecar' || this.#owner.identity === undefined;
		if (this.#holders.size === 0 && isFree) return;
		const message = `${this.#value.id} is registered by another client; only that client may report on it or deregister it`;
		throw new SpockError('ACL_DENIED', message, { details: { id: this.#value.id } });
	}

	/** What it is from now on, and whose; `isNew` for the first claim of it. */
	define(definition: InstanceDefinition, holder: RegistrationHolder, isNew: boolean): void {
		const isThere = this.#owner.isThere(this.#clock.now());
		const isOwner = isThere && this.#owner.is(holder);
		const isOther = !isSameDefinition(this.#value, definition);
		// It has come back to what somebody else made of its own meanwhile.
		if (isOwner && isOther && this.#isUsurped) this.#evictOthers(holder);
		if (isOther || isOwner) this.#isUsurped = isThere && !isOwner;
		if (isOwner || (!isThere && (isOther || !this.#holders.hasOthersThan(holder)))) this.#owner.set(holder);
		// The object that the registry knows is kept where nothing has changed: a reconnect is then one report.
		if (isOther || this.#value.isPartial === true || isNew) this.#sign(definition);
	}

	/** Found at the registry, from before a restart. */
	found(): void {
		this.#owner.found(this.#value.claimant, this.#clock.now());
	}

	/** Registered by an earlier sidecar for its owner, who may come back after those who hold it now. */
	foundOwner(definition: InstanceDefinition): void {
		const { claimant } = definition;
		if (claimant === undefined || this.#owner.identity === claimant) return;
		this.#owner.found(claimant, this.#clock.now());
		this.#isUsurped = !isSameDefinition(this.#value, definition);
		this.#sign(this.#value);
	}

	/** An owner that has not come back within the grace leaves it to those who hold it. */
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

	/** Nobody owns it any more; with a holder, only if that was its owner. */
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
 * Whose word on a definition counts: the client that registered it first. It is known by its connection, or by its identity
 * when it comes back. One that does not come back within the grace owns nothing any more.
 */
class RegistrationOwner {
	readonly #graceMs: number;
	#holder: RegistrationHolder | undefined;
	#identity: string | undefined;
	#leftAtMs: number | undefined;

	constructor(graceMs: number) {
		this.#graceMs = graceMs;
	}

	/** What a later process can know it by. */
	get identity(): string | undefined {
		return this.#identity;
	}

	is(holder: RegistrationHolder): boolean {
		return this.#holder === holder || (this.#identity !== undefined && this.#identity === holder.identity);
	}

	/** True while there is one: connected, or away for less than the grace. */
	isThere(nowMs: number): boolean {
		if (this.#leftAtMs !== undefined && nowMs - this.#leftAtMs >= this.#graceMs) this.clear();
		return this.#holder !== undefined || this.#identity !== undefined;
	}

	set(holder: RegistrationHolder): void {
		this.#holder = holder;
		this.#identity = holder.identity;
		this.#leftAtMs = undefined;
	}

	/** Its connection is gone. Without an identity nobody could know it again. */
	left(holder: RegistrationHolder, nowMs: number): void {
		if (this.#holder === holder) this.found(this.#identity, nowMs);
	}

	/** It was there before this process. */
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
