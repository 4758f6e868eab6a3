import { type RegistrationReply, type RegistrationState, type RegistrationStatus, SpockError } from '@spock/protocol';
import { type Clock, type Random, step, type TimerHandle } from '@spock/protocol/internal';

import type { RegistrationPhase } from '../foundation/discovery-event.ts';
import type {
	InstanceDefinition,
	InstanceHealth,
	OwnedInstance,
	Registrar,
	RegistrationTerms,
} from '../foundation/registrar.ts';
import { OwnedDefinition } from './owned-definition.ts';
import { type RegistrationHolder, RegistrationHolders } from './registration-holders.ts';
import { type RegistrationAction, type RegistrationEvent, registrationMachine } from './registration-machine.ts';
import { RegistrationWriter, type WriteOutcome } from './registration-writer.ts';
import { isSameHealth, LOST_HEALTH, replyOf } from './registry-entry.ts';

/** What a registration shares with the others. */
export interface RegistrationContext {
	readonly registrar: Registrar;
	readonly terms: RegistrationTerms;
	readonly reconnectGraceMs: number;
	readonly clock: Clock;
	readonly random?: Random;
	/** True while the sidecar ends: instances deregistered then return with the next one. */
	readonly isDraining: () => boolean;
	/**
	 * Undefined once the instances of an earlier sidecar are known. Until then resolves when they are, and rejects with the next failure.
	 * Nothing is written before, because the instance may be another client's.
	 */
	readonly known: () => Promise<void> | undefined;
	readonly changed: (registration: Registration) => void;
	/** The registry has given it another name in snapshots than `from`: it is registered at another place, or that was renamed. */
	readonly moved: (registration: Registration, from: string) => void;
	/** Called when it is gone: unwanted, and unknown to the registry. */
	readonly forget: (registration: Registration) => void;
}

/** One instance that is kept registered. Decisions are in {@link registrationMachine}. */
export class Registration {
	readonly id: string;
	readonly holders: RegistrationHolders = new RegistrationHolders();
	readonly definition: OwnedDefinition;
	readonly #context: RegistrationContext;
	readonly #writer: RegistrationWriter;
	#phase: RegistrationPhase = 'new';
	/** The combined report of the holders; without a holder, the last report. */
	#health: InstanceHealth;
	#error: SpockError | undefined;
	#timer: TimerHandle | undefined;
	#notified = '';
	/** The last time that the last holder left it, or that it was found. */
	#unheldSinceMs: number;
	/** The last reported change; the same is not reported twice in a row. */
	#reported = '';

	constructor(definition: InstanceDefinition, health: InstanceHealth, context: RegistrationContext) {
		this.id = definition.id;
		this.#health = health;
		this.#context = context;
		const { clock, random, registrar, terms } = context;
		this.#unheldSinceMs = clock.now();
		this.definition = new OwnedDefinition({
			definition,
			holders: this.holders,
			clock,
			graceMs: context.reconnectGraceMs,
			evictOthers: (owner) => this.#evictOthers(owner),
		});
		this.#writer = new RegistrationWriter({
			...{ id: definition.id, registrar, terms, clock, random },
			known: () => context.known(),
			wanted: () => (this.#phase === 'leaving' ? 'removal' : this.#phase === 'gone' ? 'nothing' : 'instance'),
			content: () => this.#content(),
			reply: () => this.reply(),
			ended: (error) => {
				this.#error = error;
			},
			settled: (outcome) => this.#settled(outcome),
			moved: (from) => context.moved(this, from),
		});
	}

	get phase(): RegistrationPhase {
		return this.#phase;
	}

	get service(): string {
		return this.definition.value.service;
	}

	/** Its name in snapshots, as far as the registry has returned it. */
	get instance(): string | null {
		return this.#writer.instance;
	}

	/** Since when no client holds it, as for an instance that outlives its client; undefined while one does. */
	get unheldSinceMs(): number | undefined {
		return this.holders.size > 0 ? undefined : this.#unheldSinceMs;
	}

	/** Why the last write failed; undefined when it did not. */
	get error(): SpockError | undefined {
		return this.#error;
	}

	get state(): RegistrationState {
		return this.reply().state;
	}

	/**
	 * A holder registers it, for the first time or again. `written` settles with the first write, whatever its outcome; call `gaveUp`
	 * if the caller stops waiting before that.
	 */
	claim(
		definition: InstanceDefinition,
		health: InstanceHealth,
		holder: RegistrationHolder,
	): { readonly written: Promise<RegistrationReply>; readonly gaveUp: () => void } {
		if (this.holders.isOutdated(holder)) return { written: Promise.resolve(this.reply()), gaveUp: () => undefined };
		const before = this.#health;
		const known = this.definition.value;
		this.definition.define(definition, holder, this.#phase === 'new');
		const gaveUp = this.holders.add(holder, health, () => this.abandon(holder));
		this.#health = this.holders.health() ?? health;
		const isSame = known === this.definition.value && isSameHealth(before, this.#health);
		if (isSame && this.#phase === 'held' && this.#writer.isSettled)
			return { written: Promise.resolve(this.reply()), gaveUp };
		this.#writer.change();
		this.#handle('claimed');
		// A call that waits for its end is overtaken by this claim.
		this.#writer.endRemovals();
		return { written: this.#writer.waitForWrite(), gaveUp };
	}

	/** Found at the registry, from before a restart. */
	found({ instance }: OwnedInstance): void {
		const isKept = this.definition.value.bind === 'sidecar';
		this.definition.found();
		this.#writer.found(instance, isKept ? this.definition.value : undefined);
		this.#handle(isKept ? 'found, kept by the sidecar' : 'found');
	}

	/** A holder reports its health. Settles as a claim does. */
	report(health: InstanceHealth, holder: RegistrationHolder): Promise<RegistrationReply> {
		if (this.holders.isOutdated(holder)) return Promise.resolve(this.reply());
		const before = this.#health;
		const isHolder = this.holders.says(holder, health);
		// A client that is back and has not registered again is no holder yet: until then the reports of the others count.
		this.#health = (isHolder || this.holders.size > 0 ? this.holders.health() : undefined) ?? health;
		// In the other phases something else is written: store this for when the app is back.
		if (this.#phase !== 'held' || (isSameHealth(before, this.#health) && this.#writer.isSettled))
			return Promise.resolve(this.reply());
		this.#writer.change();
		this.#writer.want(false);
		// The registry is unreachable: the next retry writes it, and the caller need not wait.
		if (this.#writer.isBackingOff) return Promise.resolve(this.reply());
		return this.#writer.waitForWrite();
	}

	/** This holder is silent, for this reason; undefined: it is heard again. */
	silence(holder: RegistrationHolder, reason: string | undefined): void {
		this.holders.silence(holder, reason);
		this.#listen();
	}

	/**
	 * A client deregisters it. It stays while another client holds it. Resolves when the registry has confirmed it, or at once if
	 * nothing must be written.
	 */
	withdraw(signal?: AbortSignal, holder?: RegistrationHolder): Promise<void> {
		if (this.#phase === 'gone') return Promise.resolve();
		if (holder !== undefined) {
			if (this.holders.isOutdated(holder)) return Promise.resolve();
			this.holders.deleteClient(holder);
			this.definition.disown(holder);
			if (this.holders.size > 0) {
				this.#listen();
				return Promise.resolve();
			}
		}
		this.#writer.change();
		const removed = this.#writer.waitForRemoval(signal);
		this.#handle('withdrawn');
		// The holders were notified, and no longer count.
		this.holders.clear();
		this.definition.disown();
		return removed;
	}

	/** This connection is gone; without another holder, an instance bound to its connection is lost. */
	abandon(holder: RegistrationHolder): void {
		const said = this.holders.delete(holder);
		if (said === undefined) return;
		this.definition.left(holder);
		this.holders.left(holder, this.#context.clock.now());
		if (this.holders.size > 0) {
			this.#listen();
			return;
		}
		this.#unheldSinceMs = this.#context.clock.now();
		this.#health = said;
		if (this.definition.value.bind === 'sidecar') return;
		this.#writer.change();
		this.#handle('abandoned');
	}

	/** The registry has it of another app: ends without a write, and rejects the waiting calls with the reason. */
	yield(error: SpockError): void {
		this.#error = error;
		this.#writer.refuse(error);
		this.#handle("another app's");
	}

	/** Stops at once, without another write. Waiting calls reject with CLOSED. */
	close(): void {
		this.#context.clock.clearTimeout(this.#timer);
		this.#writer.stop();
		this.#writer.refuse(new SpockError('CLOSED', 'the registrations were closed'));
	}

	/** Writes it again at once: where it is registered has failed. */
	rewrite(): void {
		if (this.#phase === 'held' || this.#phase === 'grace' || this.#phase === 'leaving') this.#writer.want(true);
	}

	/** The state, as sent to apps. */
	reply(): RegistrationReply {
		return replyOf({
			definition: this.definition.value,
			phase: this.#phase,
			instance: this.#writer.instance,
			isKnown: this.#writer.isKnown,
			error: this.#error,
			isDraining: this.#context.isDraining(),
		});
	}

	/** A holder was sent another state: the next one must be sent, even if nothing has changed. */
	tellAgain(): void {
		this.#notified = '';
	}

	/** The state, for people. */
	status(): RegistrationStatus | undefined {
		const phase = this.#phase;
		if (phase === 'new' || phase === 'gone') return undefined;
		const { status, note } = this.#health;
		const { app } = this.definition.value;
		const said = { status, ...(note !== '' && { note }), ...(app !== undefined && { app }) };
		return { ...this.reply(), phase, holders: this.holders.size, ...said };
	}

	#evictOthers(owner: RegistrationHolder): void {
		this.holders.deleteClient(owner);
		const error = 'the client that registered this id is back';
		this.holders.notify({ ...this.reply(), state: 'deregistered', error });
		this.holders.clear();
	}

	/** The combined report of the holders may have changed. */
	#listen(): void {
		const health = this.holders.health();
		if (health === undefined || isSameHealth(this.#health, health)) return;
		this.#health = health;
		if (this.#phase !== 'held') return;
		this.#writer.change();
		this.#writer.want(false);
	}

	#handle(event: RegistrationEvent): void {
		const { state, actions } = step(registrationMachine, this.#phase, event);
		const isNew = state !== this.#phase;
		this.#phase = state;
		for (const action of actions) this.#act(action);
		if (isNew) this.#changed();
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
				this.#writer.want(false);
				return;
			case 'write now':
				this.#writer.want(true);
				return;
			case 'notify':
				this.#notify();
				return;
			case 'forget':
				this.#writer.stop();
				this.#writer.endRemovals();
				this.#context.forget(this);
				return;
		}
	}

	#arm(delayMs: number, event: RegistrationEvent): void {
		this.#timer = this.#context.clock.setTimeout(() => this.#handle(event), delayMs);
		this.#timer.unref?.();
	}

	#content(): { readonly definition: InstanceDefinition; readonly health: InstanceHealth } {
		this.definition.inherit();
		return { definition: this.definition.value, health: this.#phase === 'grace' ? LOST_HEALTH : this.#health };
	}

	#settled(outcome: WriteOutcome): void {
		if (outcome === 'lost') {
			this.#changed();
			return;
		}
		if (outcome === 'removed' || outcome === 'refused') this.#handle(outcome);
		if (this.#phase !== 'gone') this.#notify();
	}

	#notify(): void {
		const reply = this.reply();
		const news = JSON.stringify([reply.state, reply.error, reply.instance]);
		if (news === this.#notified) return;
		this.#notified = news;
		this.holders.notify(reply);
		this.#changed();
	}

	/** Reports a change unless it was just reported: one step may change both the phase and the reply to the holders. */
	#changed(): void {
		const report = JSON.stringify([this.#phase, this.state, this.instance, this.#error?.message]);
		if (report === this.#reported) return;
		this.#reported = report;
		this.#context.changed(this);
	}
}
