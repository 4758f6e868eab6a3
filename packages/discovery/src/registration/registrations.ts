import {
	type RegisterServiceData,
	type RegistrationReply,
	type RegistrationStatus,
	type ReportServiceData,
	SpockError,
} from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';

import type { OwnedInstance } from '../foundation/registrar.ts';
import { Adoption } from './adoption.ts';
import { answerInTime, type RegistrationWait } from './answer-in-time.ts';
import { Registration, type RegistrationContext } from './registration.ts';
import { definitionOf, healthOf } from './registration-data.ts';
import type { RegistrationHolder } from './registration-holders.ts';
import {
	type RegistrationsOptions,
	type ResolvedRegistrationsOptions,
	resolveRegistrationsOptions,
} from './registrations-options.ts';

/**
 * What is registered through one sidecar: kept alive while somebody holds it, repeated when the registry loses it, taken
 * out when nobody wants it any more. Throws a RangeError or TypeError naming the option that is wrong.
 */
export class Registrations {
	readonly #options: RegistrationsOptions;
	readonly #resolved: ResolvedRegistrationsOptions;
	readonly #clock: Clock;
	readonly #context: RegistrationContext;
	readonly #adoption: Adoption;
	readonly #byId = new Map<string, Registration>();
	/** Everybody who ever registered: most connections never do, and their end is then no work. */
	readonly #holders = new WeakSet<RegistrationHolder>();
	readonly #emptied = new Set<() => void>();
	#state: 'open' | 'released' | 'leaving' | 'draining' | 'closed' = 'open';

	constructor(options: RegistrationsOptions) {
		const { registrar, clock = systemClock, random, onEvent } = options;
		this.#options = options;
		this.#resolved = resolveRegistrationsOptions(options);
		this.#clock = clock;
		const { terms, reconnectGraceMs } = this.#resolved;
		this.#context = {
			registrar,
			terms,
			reconnectGraceMs,
			clock,
			...(random && { random }),
			known: () => this.#adoption.next(),
			isDraining: () => this.#state === 'draining' || this.#state === 'closed',
			changed: ({ id, service, instance, phase, state, error }) => {
				onEvent?.({ type: 'registration', id, service, instance, phase, state, ...(error && { error }) });
			},
			forget: (registration) => this.#forget(registration),
		};
		this.#adoption = new Adoption({
			clock,
			...(random && { random }),
			// A registrar of a third party may throw, or answer with no list: both are failures to learn it.
			find: async () => [...(await registrar.owned(terms.owner))],
			againAfterMs: reconnectGraceMs,
			found: (instances) => {
				for (const one of instances) this.#adopt(one);
			},
			failed: (error, isNews) => onEvent?.({ type: 'registrations-unknown', error, isNews }),
		});
	}

	get count(): number {
		return this.#byId.size;
	}

	/**
	 * Registers an instance for this holder, or makes it one of the holders of it. Resolves with how it is after the first
	 * write: `pending` when the registry is out of reach, or slower than the caller waits. Who gives up before that holds nothing
	 * by this claim.
	 * Throws OVERLOADED, BAD_REQUEST (another client has registered the id otherwise) and UNAVAILABLE (this sidecar is ending);
	 * rejects with what the registry refuses it with.
	 */
	claim(
		data: RegisterServiceData,
		holder: RegistrationHolder,
		wait: RegistrationWait = {},
	): Promise<RegistrationReply> {
		const { advertise, owner, machine = owner } = this.#options;
		// A successor asks the registry once what there is: what shall outlive this connection must be known to it by then.
		if (this.#isEnding || (this.#state === 'released' && data.bind === 'sidecar'))
			throw new SpockError('UNAVAILABLE', 'the sidecar is shutting down: register again with the next one');
		const definition = definitionOf(data, { advertise, machine });
		const health = healthOf(data);
		const known = this.#byId.get(definition.id);
		this.#refuseOverLimit(definition.id, known, holder);
		known?.definition.expectDefinable(definition, holder);
		const registration = known ?? new Registration(definition, health, this.#context);
		this.#byId.set(definition.id, registration);
		this.#holders.add(holder);
		const { written, gaveUp } = registration.claim(definition, health, holder);
		return this.#inTime(registration, written, wait, gaveUp);
	}

	/** A holder's word on an instance. Throws NO_SUCH_SERVICE for an id that is not registered here, ACL_DENIED for another's. */
	report(data: ReportServiceData, holder: RegistrationHolder, wait: RegistrationWait = {}): Promise<RegistrationReply> {
		const registration = this.#byId.get(data.id);
		if (registration === undefined || registration.phase === 'leaving') {
			const message = `no instance is registered here with the id ${data.id}: register it first`;
			throw new SpockError('NO_SUCH_SERVICE', message, { details: { id: data.id } });
		}
		registration.definition.expectOwn(holder);
		return this.#inTime(registration, registration.report(healthOf(data), holder), wait, () => undefined);
	}

	/**
	 * Gives up what this holder's client claims; the last one takes the instance out. Resolves when the registry knows, and tries
	 * until then; at once while another client holds it. Rejects with ABORTED, and with ACL_DENIED for another's.
	 */
	async withdraw(id: string, holder: RegistrationHolder, signal?: AbortSignal): Promise<void> {
		// It may be one from before a restart, which the registry has not told of yet.
		const isKnown = this.#byId.has(id);
		if (!isKnown) await this.#adoption.settled(signal);
		const registration = this.#byId.get(id);
		// What was registered while this waited is a later word.
		if (registration === undefined || (!isKnown && registration.holders.size > 0)) return;
		registration.definition.expectOwn(holder);
		await registration.withdraw(signal, holder);
	}

	/** Nothing was heard of this holder for too long, which is why its word does not count; undefined: it is heard again. */
	silence(holder: RegistrationHolder, reason: string | undefined): void {
		if (!this.#holders.has(holder)) return;
		for (const registration of this.#byId.values()) registration.silence(holder, reason);
	}

	/** This holder is gone. What is bound to its connection, and held by nobody else, is critical from now on. */
	abandon(holder: RegistrationHolder): void {
		if (!this.#holders.delete(holder)) return;
		for (const registration of [...this.#byId.values()]) {
			if (this.#state === 'released' || this.#state === 'leaving') this.#letGo(registration, holder);
			else registration.abandon(holder);
		}
	}

	/**
	 * Another process keeps everything from now on, under the same owner: nothing is taken out any more, and nothing made
	 * critical. What an app holds is kept up here until it has moved, and then left to the other. Idempotent.
	 */
	release(): void {
		if (this.#state !== 'open') return;
		this.#state = 'released';
		this.#adoption.stop();
		for (const registration of [...this.#byId.values()]) this.#letGo(registration);
	}

	/**
	 * Looks at the registry for what this sidecar registered before it was restarted; tries until it has an answer, and looks once more
	 * when the grace is over.
	 */
	adopt(): void {
		this.#adoption.start();
	}

	/** Takes everything out and refuses new registrations. Resolves when the registry knows, or at `close`. Idempotent. */
	drain(): Promise<void> {
		return this.#end('draining');
	}

	/**
	 * Leaves what apps hold in the registry, for the next sidecar to find, and takes out the rest: what apps have left, and what was
	 * bound to this sidecar. New registrations are refused; what is held is kept up, and can be taken out by its app, until its
	 * connection ends. Resolves when the registry knows what is taken out, or at `close`. Idempotent.
	 */
	leave(): Promise<void> {
		return this.#end('leaving');
	}

	async #end(how: 'draining' | 'leaving'): Promise<void> {
		if (this.#state === 'open') {
			this.#state = how;
			this.#adoption.stop();
			for (const registration of [...this.#byId.values()]) {
				const isHeld = registration.holders.size > 0;
				if (how === 'leaving' && isHeld) continue;
				// An app that this sidecar has not seen yet may be alive: it is for the next one to wait for it.
				if (how === 'leaving' && registration.phase === 'adopted') this.#letGo(registration);
				// Each goes on trying; what comes of it is told by the events.
				else registration.withdraw().catch(() => undefined);
			}
		}
		if (!this.#isEnding || this.#isTakenOut) return;
		await new Promise<void>((resolve) => this.#emptied.add(resolve));
	}

	/** True when nothing is left that the registry must still be told of. */
	get #isTakenOut(): boolean {
		if (this.#state !== 'leaving') return this.#byId.size === 0;
		return [...this.#byId.values()].every(({ holders }) => holders.size > 0);
	}

	/** Stops at once. What the registry still knows becomes critical there, and is then taken out by it. */
	close(): void {
		if (this.#state === 'closed') return;
		this.#state = 'closed';
		this.#adoption.stop();
		for (const registration of this.#byId.values()) registration.close();
		this.#byId.clear();
		this.#tellEmptied();
	}

	/** Every registration and how it is. */
	list(): RegistrationStatus[] {
		return [...this.#byId.values()].flatMap((registration) => registration.status() ?? []);
	}

	get #isEnding(): boolean {
		return this.#state === 'leaving' || this.#state === 'draining' || this.#state === 'closed';
	}

	/** Stops keeping what nobody holds here any more; the registry is told nothing. */
	#letGo(registration: Registration, holder?: RegistrationHolder): void {
		if (holder !== undefined && registration.holders.delete(holder) === undefined) return;
		if (registration.holders.size > 0) return;
		// One that is being taken out is still taken out: its app has said so.
		if (registration.phase === 'leaving') return;
		registration.close();
		this.#forget(registration);
	}

	#adopt(found: OwnedInstance): void {
		const { id } = found.definition;
		// A client has come already: it may be another one than the owner.
		const known = this.#byId.get(id);
		if (known !== undefined) known.definition.foundOwner(found.definition);
		// Past the limit the registry itself cleans up.
		if (known !== undefined || this.#byId.size >= this.#resolved.registrationsMax) return;
		const registration = new Registration(found.definition, found.health, this.#context);
		this.#byId.set(id, registration);
		registration.found(found);
	}

	#inTime(
		registration: Registration,
		outcome: Promise<RegistrationReply>,
		wait: RegistrationWait,
		gaveUp: () => void,
	): Promise<RegistrationReply> {
		return answerInTime(outcome, wait, {
			clock: this.#clock,
			now: () => registration.reply(),
			toldPending: () => registration.tellAgain(),
			gaveUp,
		});
	}

	#refuseOverLimit(id: string, known: Registration | undefined, holder: RegistrationHolder): void {
		const { registrationsMax, registrationsPerHolderMax } = this.#resolved;
		if (known === undefined && this.#byId.size >= registrationsMax) {
			const message = `${registrationsMax} instances are registered here, which is the limit`;
			throw new SpockError('OVERLOADED', message, { details: { id, registrationsMax } });
		}
		if (known?.holders.has(holder) || !this.#holders.has(holder)) return;
		const held = [...this.#byId.values()].filter(({ holders }) => holders.has(holder)).length;
		if (held < registrationsPerHolderMax) return;
		const message = `this connection has registered ${held} instances, which is the limit`;
		throw new SpockError('OVERLOADED', message, { details: { id, registrationsPerHolderMax } });
	}

	#forget(registration: Registration): void {
		// One of the same id may have taken its place.
		if (this.#byId.get(registration.id) === registration) this.#byId.delete(registration.id);
		if (this.#isTakenOut) this.#tellEmptied();
	}

	#tellEmptied(): void {
		for (const resolve of this.#emptied) resolve();
		this.#emptied.clear();
	}
}
