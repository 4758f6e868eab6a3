import {
	type RegisterServiceData,
	type RegistrationReply,
	type RegistrationStatus,
	type ReportServiceData,
	SpockError,
} from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';

import { Adoption } from './adoption.ts';
import { answerInTime, type RegistrationWait } from './answer-in-time.ts';
import type { OwnedInstance } from './registrar.ts';
import { Registration } from './registration.ts';
import type { RegistrationContext, RegistrationHolder } from './registration-context.ts';
import { definitionOf, healthOf } from './registration-data.ts';
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
	#state: 'open' | 'released' | 'draining' | 'closed' = 'open';

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
			isDraining: () => this.#state === 'draining' || this.#state === 'closed',
			changed: ({ id, service, phase, state, error }) => {
				onEvent?.({ type: 'registration', id, service, phase, state, ...(error && { reason: error.message }) });
			},
			forget: (registration) => this.#forget(registration),
		};
		this.#adoption = new Adoption({
			clock,
			...(random && { random }),
			find: () => registrar.owned(terms.owner),
			found: (instances) => {
				for (const one of instances) this.#adopt(one);
			},
			failed: (error) => onEvent?.({ type: 'registrations-unknown', error }),
		});
	}

	get count(): number {
		return this.#byId.size;
	}

	/**
	 * Registers an instance for this holder, or makes it one of the holders of it. Resolves with how it is after the first
	 * write: `pending` when the registry is out of reach, or slower than the caller waits. Who gives up before that holds nothing
	 * by this claim.
	 * Throws OVERLOADED, BAD_REQUEST (the id is another service's) and UNAVAILABLE (this sidecar is ending); rejects with what the
	 * registry refuses it with.
	 */
	claim(
		data: RegisterServiceData,
		holder: RegistrationHolder,
		wait: RegistrationWait = {},
	): Promise<RegistrationReply> {
		const { advertise, owner, machine = owner } = this.#options;
		// A successor asks the registry once what there is: what shall outlive this connection must be known to it by then.
		if (this.#isEnding || (this.#state === 'released' && data.bind === 'sidecar'))
			throw new SpockError('UNAVAILABLE', 'the sidecar is shutting down: register with the next one');
		const definition = definitionOf(data, { advertise, machine });
		const health = healthOf(data);
		const known = this.#byId.get(definition.id);
		this.#refuseOverLimit(definition.id, known, holder);
		if (known !== undefined && known.service !== definition.service && known.isHeldByOthersThan(holder)) {
			const message = `data.id ${definition.id} is registered for the service ${known.service}`;
			throw new SpockError('BAD_REQUEST', message, { details: { path: 'id' } });
		}
		const registration = known ?? new Registration(definition, health, this.#context);
		this.#byId.set(definition.id, registration);
		this.#holders.add(holder);
		const gaveUp = registration.holders.add(holder, () => registration.abandon(holder));
		return this.#inTime(registration, registration.claim(definition, health), wait, gaveUp);
	}

	/** Says how an instance is. Throws NO_SUCH_SERVICE for an id that is not registered here. */
	report(data: ReportServiceData, wait: RegistrationWait = {}): Promise<RegistrationReply> {
		const registration = this.#byId.get(data.id);
		if (registration === undefined || registration.phase === 'leaving') {
			const message = `nothing is registered here with the id ${data.id}: register it first`;
			throw new SpockError('NO_SUCH_SERVICE', message, { details: { id: data.id } });
		}
		return this.#inTime(registration, registration.report(healthOf(data)), wait, () => undefined);
	}

	/** Takes an instance out, whoever holds it. Resolves when the registry knows; tries until then. Rejects with ABORTED. */
	async withdraw(id: string, signal?: AbortSignal): Promise<void> {
		// It may be one from before a restart, which the registry has not told of yet.
		if (!this.#byId.has(id)) await this.#adoption.settled(signal);
		await this.#byId.get(id)?.withdraw(signal);
	}

	/** This holder is gone. What is bound to its connection, and held by nobody else, is critical from now on. */
	abandon(holder: RegistrationHolder): void {
		if (!this.#holders.delete(holder)) return;
		for (const registration of [...this.#byId.values()]) {
			if (this.#state === 'released') this.#letGo(registration, holder);
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

	/** Looks at the registry for what this sidecar registered before it was restarted; tries until it has an answer. */
	adopt(): void {
		this.#adoption.start();
	}

	/** Takes everything out and refuses new registrations. Resolves when the registry knows, or at `close`. Idempotent. */
	async drain(): Promise<void> {
		if (this.#state === 'open') {
			this.#state = 'draining';
			this.#adoption.stop();
			// Each goes on trying; what comes of it is told by the events.
			for (const registration of [...this.#byId.values()]) registration.withdraw().catch(() => undefined);
		}
		if (this.#state !== 'draining' || this.#byId.size === 0) return;
		await new Promise<void>((resolve) => this.#emptied.add(resolve));
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
		return this.#state === 'draining' || this.#state === 'closed';
	}

	/** Stops keeping what nobody holds here any more; the registry is told nothing. */
	#letGo(registration: Registration, holder?: RegistrationHolder): void {
		if (holder !== undefined && !registration.holders.delete(holder)) return;
		if (registration.holders.size > 0) return;
		// One that is being taken out is still taken out: its app has said so.
		if (registration.phase === 'leaving') return;
		registration.close();
		this.#forget(registration);
	}

	#adopt(found: OwnedInstance): void {
		const { id } = found.definition;
		// An app may have come already; and past the limit the registry itself cleans up.
		if (this.#byId.has(id) || this.#byId.size >= this.#resolved.registrationsMax) return;
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
		return answerInTime(outcome, wait, { clock: this.#clock, now: () => registration.reply(), gaveUp });
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
		if (this.#byId.size === 0) this.#tellEmptied();
	}

	#tellEmptied(): void {
		for (const resolve of this.#emptied) resolve();
		this.#emptied.clear();
	}
}
