import { type RegistrationReply, type RegistrationState, type RegistrationStatus, SpockError } from '@spock/protocol';
import { step, type TimerHandle } from '@spock/protocol/internal';

import type { RegistrationPhase } from '../discovery-event.ts';
import type { InstanceDefinition, InstanceHealth, OwnedInstance } from './registrar.ts';
import type { RegistrationContext } from './registration-context.ts';
import { isSameDefinition } from './registration-data.ts';
import { RegistrationHolders } from './registration-holders.ts';
import { type RegistrationAction, type RegistrationEvent, registrationMachine } from './registration-machine.ts';
import { type RegistrationHolder, RegistrationOwner } from './registration-owner.ts';
import { replyOf } from './registration-reply.ts';
import { RegistrationSync } from './registration-sync.ts';
import { RegistrationWaiters } from './registration-waiters.ts';
import { RegistryEntry } from './registry-entry.ts';

/** An instance is renewed this often within its time to live, so that two lost renewals harm nobody. */
const REFRESHES_PER_TTL = 3;
const LOST_HEALTH: InstanceHealth = { status: 'critical', note: 'the app has lost its connection to its sidecar' };

/** One instance that is kept registered. Decisions are in {@link registrationMachine}. */
export class Registration {
	readonly id: string;
	readonly holders: RegistrationHolders = new RegistrationHolders();
	readonly #context: RegistrationContext<Registration>;
	readonly #sync: RegistrationSync;
	readonly #waiters = new RegistrationWaiters();
	readonly #entry: RegistryEntry;
	readonly #owner: RegistrationOwner;
	/** True while the definition is of a client that came while its owner was away. */
	#isUsurped = false;
	#phase: RegistrationPhase = 'new';
	#definition: InstanceDefinition;
	/** What the holders say together; without one, what was said last. */
	#health: InstanceHealth;
	#error: SpockError | undefined;
	#timer: TimerHandle | undefined;
	/** Grows with every want; waiters wait for the write of theirs. */
	#version = 0;
	/** The write on its way, or the last one. */
	#written = { version: 0, isRemoval: false };
	#told = '';

	constructor(definition: InstanceDefinition, health: InstanceHealth, context: RegistrationContext<Registration>) {
		this.id = definition.id;
		this.#definition = definition;
		this.#health = health;
		this.#context = context;
		const { clock, random, registrar, terms } = context;
		this.#entry = new RegistryEntry(registrar, terms);
		this.#owner = new RegistrationOwner(context.reconnectGraceMs);
		this.#sync = new RegistrationSync({
			clock,
			...(random && { random }),
			refreshMs: Math.max(1, Math.floor(terms.ttlMs / REFRESHES_PER_TTL)),
			write: () => this.#write(),
			settled: (error) => this.#settled(error),
		});
	}

	get phase(): RegistrationPhase {
		return this.#phase;
	}

	get service(): string {
		return this.#definition.service;
	}

	/** Its name in snapshots, as far as the registry has told. */
	get instance(): string | null {
		return this.#entry.instance;
	}

	/** Why the last write failed; undefined when it did not. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	get state(): RegistrationState {
		return this.reply().state;
	}

	/**
	 * Throws BAD_REQUEST if this client may not define it so: while others hold it, its owner alone may change what it is.
	 */
	expectDefinable(definition: InstanceDefinition, holder: RegistrationHolder): void {
		const isThere = this.#owner.isThere(this.#now());
		if (isSameDefinition(this.#definition, definition) || (isThere && this.#owner.is(holder))) return;
		if (!this.holders.hasOthersThan(holder)) return;
		const what = definition.service === this.service ? 'otherwise' : `for the service ${this.service}`;
		const message = `data.id ${this.id} is registered ${what} by another client: give this instance an id of its own`;
		throw new SpockError('BAD_REQUEST', message, { details: { path: 'id' } });
	}

	/** Throws ACL_DENIED if this client may not say anything of it. */
	expectOwn(holder: RegistrationHolder): void {
		if (this.holders.has(holder)) return;
		if (this.#owner.isThere(this.#now()) && this.#owner.is(holder)) return;
		if (this.holders.isAway(holder, this.#now(), this.#context.reconnectGraceMs)) return;
		// What outlives its client is for any other one to end; so is what a client has left that has no secret.
		const isFree = this.#definition.bind === 'sidecar' || this.#owner.identity === undefined;
		if (this.holders.size === 0 && isFree) return;
		const message = `${this.id} is registered by another client, which alone may report on it or deregister it`;
		throw new SpockError('ACL_DENIED', message, { details: { id: this.id } });
	}

	/**
	 * A holder wants it, for the first time or again. `written` settles with the first write, whatever comes of it; `gaveUp` is
	 * to be called when nobody waits for this claim any more before that.
	 */
	claim(
		definition: InstanceDefinition,
		health: InstanceHealth,
		holder: RegistrationHolder,
	): { readonly written: Promise<RegistrationReply>; readonly gaveUp: () => void } {
		if (this.holders.isOutdated(holder)) return { written: Promise.resolve(this.reply()), gaveUp: () => undefined };
		const before = this.#health;
		const known = this.#definition;
		this.#define(definition, holder);
		const gaveUp = this.holders.add(holder, health, () => this.abandon(holder));
		this.#health = this.holders.health() ?? health;
		const isSame = known === this.#definition && isEqual(before, this.#health);
		if (isSame && this.#phase === 'held' && this.#isSettled) {
			return { written: Promise.resolve(this.reply()), gaveUp };
		}
		this.#version++;
		this.#handle('claimed');
		// Whoever waited for its end was overtaken by whoever wants it now.
		this.#waiters.removed();
		return { written: this.#waiters.waitForWrite(this.#version), gaveUp };
	}

	/** Found at the registry, from before a restart. */
	found({ instance }: OwnedInstance): void {
		const isKept = this.#definition.bind === 'sidecar';
		this.#owner.found(this.#definition.claimant, this.#now());
		this.#entry.found(instance, isKept ? this.#definition : undefined);
		this.#handle(isKept ? 'found, kept by the sidecar' : 'found');
	}

	/** Registered by an earlier sidecar for its owner, who may come back after those who hold it now. */
	foundOwner(definition: InstanceDefinition): void {
		const { claimant } = definition;
		if (claimant === undefined || this.#owner.identity === claimant) return;
		this.#owner.found(claimant, this.#now());
		this.#isUsurped = !isSameDefinition(this.#definition, definition);
		this.#sign(this.#definition);
	}

	/** A holder says how it is. Settles as a claim does. */
	report(health: InstanceHealth, holder: RegistrationHolder): Promise<RegistrationReply> {
		if (this.holders.isOutdated(holder)) return Promise.resolve(this.reply());
		const before = this.#health;
		const isHolder = this.holders.says(holder, health);
		// One that is back and has not registered again yet holds nothing: what the others say counts until it has.
		this.#health = (isHolder || this.holders.size > 0 ? this.holders.health() : undefined) ?? health;
		const isSame = isEqual(before, this.#health);
		// In the other phases the registry is told something else: this is kept for when the app is back.
		if (this.#phase !== 'held' || (isSame && this.#isSettled)) return Promise.resolve(this.reply());
		this.#version++;
		this.#sync.want(false);
		// The registry is away: the next retry tells it, and nobody need wait for that.
		if (this.#sync.state === 'backing off') return Promise.resolve(this.reply());
		return this.#waiters.waitForWrite(this.#version);
	}

	/** Nothing is heard of this holder any more, for this reason; or it is again. */
	silence(holder: RegistrationHolder, reason: string | undefined): void {
		this.holders.silence(holder, reason);
		this.#listen();
	}

	/**
	 * A client wants it no longer. While another one holds it, it stays. Resolves when the registry knows, or at once where
	 * it need not know.
	 */
	withdraw(signal?: AbortSignal, holder?: RegistrationHolder): Promise<void> {
		if (this.#phase === 'gone') return Promise.resolve();
		if (holder !== undefined) {
			if (this.holders.isOutdated(holder)) return Promise.resolve();
			this.holders.deleteClient(holder);
			if (this.#owner.is(holder)) this.#owner.clear();
			if (this.holders.size > 0) {
				this.#listen();
				return Promise.resolve();
			}
		}
		this.#version++;
		const removed = this.#waiters.waitForRemoval(signal);
		this.#handle('withdrawn');
		// Whoever held it was told so, and has no say in it any more.
		this.holders.clear();
		this.#owner.clear();
		return removed;
	}

	/** This connection is gone; without another holder, what is bound to its connection is lost. */
	abandon(holder: RegistrationHolder): void {
		const said = this.holders.delete(holder);
		if (said === undefined) return;
		this.#owner.left(holder, this.#now());
		this.holders.left(holder, this.#now());
		if (this.holders.size > 0) {
			this.#listen();
			return;
		}
		this.#health = said;
		if (this.#definition.bind === 'sidecar') return;
		this.#version++;
		this.#handle('abandoned');
	}

	/** Stops at once, whatever the registry knows. Waiting calls reject with CLOSED. */
	close(): void {
		this.#context.clock.clearTimeout(this.#timer);
		this.#sync.stop();
		this.#waiters.refused(new SpockError('CLOSED', 'the registrations were closed'));
	}

	/** How it is, as apps are told. */
	reply(): RegistrationReply {
		return replyOf({
			definition: this.#definition,
			phase: this.#phase,
			instance: this.#entry.instance,
			isKnown: this.#entry.isKnown,
			error: this.#error,
			isDraining: this.#context.isDraining(),
		});
	}

	/** A holder was told something else: what comes next is news, even if nothing has changed. */
	tellAgain(): void {
		this.#told = '';
	}

	/** How it is, for people. */
	status(): RegistrationStatus | undefined {
		const phase = this.#phase;
		if (phase === 'new' || phase === 'gone') return undefined;
		const { status, note } = this.#health;
		return { ...this.reply(), phase, holders: this.holders.size, status, ...(note !== '' && { note }) };
	}

	get #isSettled(): boolean {
		return this.#sync.state === 'in step' && this.#entry.isKnown;
	}

	#now(): number {
		return this.#context.clock.now();
	}

	/** What it is from now on, and whose. */
	#define(definition: InstanceDefinition, holder: RegistrationHolder): void {
		const isThere = this.#owner.isThere(this.#now());
		const isOwner = isThere && this.#owner.is(holder);
		const isOther = !isSameDefinition(this.#definition, definition);
		// It has come back to what somebody else made of its own meanwhile.
		if (isOwner && isOther && this.#isUsurped) this.#evictOthers(holder);
		if (isOther || isOwner) this.#isUsurped = isThere && !isOwner;
		if (isOwner || (!isThere && (isOther || !this.holders.hasOthersThan(holder)))) this.#owner.set(holder);
		// The object that the registry knows is kept where nothing has changed: a reconnect is then one report.
		if (isOther || this.#definition.isPartial === true || this.#phase === 'new') this.#sign(definition);
	}

	#sign(definition: InstanceDefinition): void {
		const { claimant: _, ...unsigned } = definition;
		const { identity } = this.#owner;
		this.#definition = { ...unsigned, ...(identity !== undefined && { claimant: identity }) };
	}

	#evictOthers(owner: RegistrationHolder): void {
		this.holders.deleteClient(owner);
		this.holders.tell({ ...this.reply(), state: 'deregistered', error: 'the client that registered this id is back' });
		this.holders.clear();
	}

	/** An owner that has not come back within the grace leaves it to those who hold it. */
	#inherit(): void {
		const { first } = this.holders;
		if (first === undefined) return;
		if (!this.#owner.isThere(this.#now())) {
			this.#owner.set(first);
			this.#isUsurped = false;
		}
		if (this.#definition.claimant !== this.#owner.identity) this.#sign(this.#definition);
	}

	/** What the holders say together may have changed. */
	#listen(): void {
		const health = this.holders.health();
		if (health === undefined || isEqual(this.#health, health)) return;
		this.#health = health;
		if (this.#phase !== 'held') return;
		this.#version++;
		this.#sync.want(false);
	}

	#handle(event: RegistrationEvent): void {
		const { state, actions } = step(registrationMachine, this.#phase, event);
		const isNew = state !== this.#phase;
		this.#phase = state;
		for (const action of actions) this.#act(action);
		if (isNew) this.#context.changed(this);
	}

	#act(action: RegistrationAction): void {
		const { clock, reconnectGraceMs, terms } = this.#context;
		switch (action) {
			case 'start grace':
				this.#arm(reconnectGraceMs, 'grace over');
				return;
			case 'start giving up':
				this.#arm(terms.ttlMs + terms.deregisterAfterMs, 'given up');
				return;
			case 'stop timer':
				clock.clearTimeout(this.#timer);
				return;
			case 'write':
				this.#sync.want(false);
				return;
			case 'write now':
				this.#sync.want(true);
				return;
			case 'tell':
				this.#tell();
				return;
			case 'forget':
				this.#sync.stop();
				this.#waiters.removed();
				this.#context.forget(this);
				return;
		}
	}

	#arm(delayMs: number, event: RegistrationEvent): void {
		this.#timer = this.#context.clock.setTimeout(() => this.#handle(event), delayMs);
		this.#timer.unref?.();
	}

	#write(): Promise<void> {
		const isRemoval = this.#phase === 'leaving';
		this.#written = { version: this.#version, isRemoval };
		if (isRemoval) return this.#entry.remove(this.id);
		const known = this.#context.known();
		return known === undefined ? this.#writeEntry() : known.then(() => this.#writeEntry());
	}

	#writeEntry(): Promise<void> {
		this.#inherit();
		return this.#entry.write(this.#definition, this.#phase === 'grace' ? LOST_HEALTH : this.#health);
	}

	#settled(error: SpockError | undefined): void {
		this.#error = error;
		if (error === undefined) {
			this.#waiters.written(this.#written.version, this.reply());
			if (this.#written.isRemoval) this.#handle('removed');
		} else if (error.code === 'NO_SUCH_SERVICE') {
			// It is registered anew at once: whoever waits for this write waits for that, and what comes of it is told.
			this.#entry.lose();
			this.#context.changed(this);
			return;
		} else {
			if (!error.retryable && !this.#entry.wasKnown) this.#refuse(error);
			else this.#waiters.failed(this.reply());
			if (!error.retryable) this.#waiters.refusedRemoval(error);
		}
		if (this.#phase !== 'gone') this.#tell();
	}

	/** The registry never took it and never will: it ends, with the reason for whoever asked. */
	#refuse(error: SpockError): void {
		this.#waiters.refused(error);
		this.#handle('refused');
	}

	#tell(): void {
		const reply = this.reply();
		const news = `${reply.state} ${reply.error ?? ''}`;
		if (news === this.#told) return;
		this.#told = news;
		this.holders.tell(reply);
		this.#context.changed(this);
	}
}

function isEqual(left: InstanceHealth, right: InstanceHealth): boolean {
	return left.status === right.status && left.note === right.note;
}
