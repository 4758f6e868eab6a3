import { type RegistrationReply, type RegistrationState, type RegistrationStatus, SpockError } from '@spock/protocol';
import { step, type TimerHandle } from '@spock/protocol/internal';

import type { InstanceDefinition, InstanceHealth, OwnedInstance } from './registrar.ts';
import type { RegistrationContext, RegistrationHolder } from './registration-context.ts';
import { RegistrationHolders } from './registration-holders.ts';
import {
	type RegistrationAction,
	type RegistrationEvent,
	type RegistrationPhase,
	registrationMachine,
} from './registration-machine.ts';
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
	readonly #context: RegistrationContext;
	readonly #sync: RegistrationSync;
	readonly #waiters = new RegistrationWaiters();
	readonly #entry: RegistryEntry;
	#phase: RegistrationPhase = 'new';
	#definition: InstanceDefinition;
	#health: InstanceHealth;
	#error: SpockError | undefined;
	#timer: TimerHandle | undefined;
	/** Grows with every want; waiters wait for the write of theirs. */
	#version = 0;
	/** The write on its way, or the last one. */
	#written = { version: 0, isRemoval: false };
	#told = '';

	constructor(definition: InstanceDefinition, health: InstanceHealth, context: RegistrationContext) {
		this.id = definition.id;
		this.#definition = definition;
		this.#health = health;
		this.#context = context;
		const { clock, random, registrar, terms } = context;
		this.#entry = new RegistryEntry(registrar, terms);
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

	/** Why the last write failed; undefined when it did not. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	get state(): RegistrationState {
		return this.reply().state;
	}

	/** True while somebody else wants it too. */
	isHeldByOthersThan(holder: RegistrationHolder): boolean {
		return this.holders.size > (this.holders.has(holder) ? 1 : 0);
	}

	/** A holder wants it, for the first time or again. Settles with the first write, whatever comes of it. */
	claim(definition: InstanceDefinition, health: InstanceHealth): Promise<RegistrationReply> {
		const isSame = isEqual(this.#definition, definition) && isEqual(this.#health, health);
		if (isSame && this.#phase === 'held' && this.#isSettled) return Promise.resolve(this.reply());
		// The object that the registry knows is kept where nothing has changed: a reconnect is then one report.
		if (!isEqual(this.#definition, definition)) this.#definition = definition;
		this.#health = health;
		this.#version++;
		this.#handle('claimed');
		// Whoever waited for its end was overtaken by whoever wants it now.
		this.#waiters.removed();
		return this.#waiters.waitForWrite(this.#version);
	}

	/** Found at the registry, from before a restart. */
	found({ instance }: OwnedInstance): void {
		const isKept = this.#definition.bind === 'sidecar';
		this.#entry.found(instance, isKept ? this.#definition : undefined);
		this.#handle(isKept ? 'found, kept by the sidecar' : 'found');
	}

	/** The app says how it is. Settles as `claim` does. */
	report(health: InstanceHealth): Promise<RegistrationReply> {
		const isSame = isEqual(this.#health, health);
		this.#health = health;
		// In the other phases the registry is told something else: this is kept for when the app is back.
		if (this.#phase !== 'held' || (isSame && this.#isSettled)) return Promise.resolve(this.reply());
		this.#version++;
		this.#sync.want(false);
		// The registry is away: the next retry tells it, and nobody need wait for that.
		if (this.#sync.state === 'backing off') return Promise.resolve(this.reply());
		return this.#waiters.waitForWrite(this.#version);
	}

	/** Nobody wants it any more. Resolves when the registry knows that. */
	withdraw(signal?: AbortSignal): Promise<void> {
		if (this.#phase === 'gone') return Promise.resolve();
		this.#version++;
		const removed = this.#waiters.waitForRemoval(signal);
		this.#handle('withdrawn');
		// Whoever held it was told so, and has no say in it any more.
		this.holders.clear();
		return removed;
	}

	/** This holder is gone; without another one, what is bound to its connection is lost. */
	abandon(holder: RegistrationHolder): void {
		if (!this.holders.delete(holder) || this.holders.size > 0 || this.#definition.bind === 'sidecar') return;
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

function isEqual(left: InstanceDefinition | InstanceHealth, right: InstanceDefinition | InstanceHealth): boolean {
	return JSON.stringify(left) === JSON.stringify(right);
}
