import {
	type RegisterServiceData,
	type RegistrationReply,
	type RegistrationStatus,
	type ReportServiceData,
	SpockError,
} from '@spock/protocol';
import {
	Backoff,
	type Clock,
	durationMsOption,
	integerOption,
	type Random,
	stringOption,
	systemClock,
	type TimerHandle,
} from '@spock/protocol/internal';

import type { DiscoveryListener } from '../discovery-event.ts';
import type { OwnedInstance, Registrar } from './registrar.ts';
import { Registration, type RegistrationContext, type RegistrationHolder } from './registration.ts';
import { definitionOf, healthOf } from './registration-data.ts';

/** How long an app that has lost its connection may take to come back. */
export const DEFAULT_RECONNECT_GRACE_MS = 30_000;
/** Without a word from the sidecar for this long, the registry takes an instance for critical. */
export const DEFAULT_TTL_MS = 15_000;
/** Critical for this long, the registry deregisters an instance by itself. */
export const DEFAULT_DEREGISTER_AFTER_MS = 600_000;
export const DEFAULT_REGISTRATIONS_MAX = 1024;
export const DEFAULT_REGISTRATIONS_PER_HOLDER_MAX = 64;
/** Delays between attempts to find at the registry what was registered before. */
const ADOPT_DELAY_MS_MIN = 250;
const ADOPT_DELAY_MS_MAX = 5000;

/** Options of {@link Registrations}. */
export interface RegistrationsOptions {
	readonly registrar: Registrar;
	/**
	 * Names this sidecar over its restarts, and no other one at the same registry: by it, it finds its own registrations. At
	 * most 512 characters.
	 */
	readonly owner: string;
	/** The host of instances that say none. Default: the address of the registry's agent. */
	readonly advertise?: string;
	/** Part of the ids of instances that say none: differs for every pod and machine of one agent. Default: `owner`. */
	readonly machine?: string;
	/** How long an app may take to come back before its instance is deregistered, in milliseconds, 0 allowed. Default 30000. */
	readonly reconnectGraceMs?: number;
	/** Time to live of an instance at the registry, in milliseconds, 1000 to 86400000. Renewed three times in it. Default 15000. */
	readonly ttlMs?: number;
	/** When the registry deregisters a critical instance by itself, in milliseconds; Consul's least is a minute. Default 600000. */
	readonly deregisterAfterMs?: number;
	/** Registrations at once; the next one is OVERLOADED. Default 1024. */
	readonly registrationsMax?: number;
	/** Registrations of one connection; the next one is OVERLOADED. Default 64. */
	readonly registrationsPerHolderMax?: number;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Default `Math.random`. */
	readonly random?: Random;
	readonly onEvent?: DiscoveryListener;
}

/**
 * What is registered through one sidecar: kept alive while somebody holds it, repeated when the registry loses it, taken
 * out when nobody wants it any more. Throws a RangeError or TypeError naming the option that is wrong.
 */
export class Registrations {
	readonly #options: RegistrationsOptions;
	readonly #clock: Clock;
	readonly #context: RegistrationContext;
	readonly #registrationsMax: number;
	readonly #perHolderMax: number;
	readonly #byId = new Map<string, Registration>();
	readonly #backoff: Backoff;
	/** Everybody who ever registered: most connections never do, and their end is then no work. */
	readonly #holders = new WeakSet<RegistrationHolder>();
	#state: 'open' | 'draining' | 'closed' = 'open';
	#adoptTimer: TimerHandle | undefined;
	readonly #emptied = new Set<() => void>();

	constructor(options: RegistrationsOptions) {
		const { registrar, clock = systemClock, random, onEvent } = options;
		this.#options = options;
		this.#clock = clock;
		this.#registrationsMax = integerOption(
			'registrationsMax',
			options.registrationsMax ?? DEFAULT_REGISTRATIONS_MAX,
			0,
			1_000_000,
		);
		this.#perHolderMax = integerOption(
			'registrationsPerHolderMax',
			options.registrationsPerHolderMax ?? DEFAULT_REGISTRATIONS_PER_HOLDER_MAX,
			1,
			1_000_000,
		);
		this.#backoff = new Backoff({
			delayMsMin: ADOPT_DELAY_MS_MIN,
			delayMsMax: ADOPT_DELAY_MS_MAX,
			...(random && { random }),
		});
		this.#context = {
			registrar,
			terms: {
				ttlMs: integerOption('ttlMs', options.ttlMs ?? DEFAULT_TTL_MS, 1000, 86_400_000),
				deregisterAfterMs: durationMsOption(
					'deregisterAfterMs',
					options.deregisterAfterMs ?? DEFAULT_DEREGISTER_AFTER_MS,
				),
				owner: stringOption('owner', options.owner).slice(0, 512),
			},
			reconnectGraceMs: durationMsOption('reconnectGraceMs', options.reconnectGraceMs ?? DEFAULT_RECONNECT_GRACE_MS, 0),
			clock,
			...(random && { random }),
			isDraining: () => this.#state !== 'open',
			changed: (registration) => {
				const { id, service, phase, error } = registration;
				const { state } = registration.reply();
				onEvent?.({ type: 'registration', id, service, phase, state, ...(error && { reason: error.message }) });
			},
			forget: (registration) => this.#forget(registration),
		};
	}

	get count(): number {
		return this.#byId.size;
	}

	/**
	 * Registers an instance for this holder, or makes it one of the holders of it. Resolves with how it is after the first
	 * write: `pending` when the registry is out of reach. Rejects with OVERLOADED, BAD_REQUEST (the id is another service's),
	 * UNAVAILABLE (this sidecar is ending), or what the registry refuses it with.
	 */
	claim(data: RegisterServiceData, holder: RegistrationHolder): Promise<RegistrationReply> {
		const { advertise, owner, machine = owner } = this.#options;
		if (this.#state !== 'open')
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
		return registration.claim(definition, health, holder);
	}

	/** Says how an instance is. Rejects with NO_SUCH_SERVICE for an id that is not registered here. */
	report(data: ReportServiceData): Promise<RegistrationReply> {
		const registration = this.#byId.get(data.id);
		if (registration === undefined || registration.phase === 'leaving') {
			const message = `nothing is registered here with the id ${data.id}: register it first`;
			throw new SpockError('NO_SUCH_SERVICE', message, { details: { id: data.id } });
		}
		return registration.report(healthOf(data));
	}

	/** Takes an instance out, whoever holds it. Resolves when the registry knows; tries until then. Rejects with ABORTED. */
	async withdraw(id: string, signal?: AbortSignal): Promise<void> {
		await this.#byId.get(id)?.withdraw(signal);
	}

	/** This holder is gone. What is bound to its connection, and held by nobody else, is critical from now on. */
	abandon(holder: RegistrationHolder): void {
		if (!this.#holders.delete(holder)) return;
		for (const registration of [...this.#byId.values()]) registration.abandon(holder);
	}

	/** Looks at the registry for what this sidecar registered before it was restarted; tries until it has an answer. */
	adopt(): void {
		this.#options.registrar.owned(this.#context.terms.owner).then(
			(found) => {
				if (this.#state === 'open') for (const one of found) this.#adopt(one);
			},
			(reason: unknown) => {
				if (this.#state !== 'open') return;
				this.#options.onEvent?.({ type: 'registrations-unknown', error: SpockError.from(reason) });
				this.#adoptTimer = this.#clock.setTimeout(() => this.adopt(), this.#backoff.next());
				this.#adoptTimer.unref?.();
			},
		);
	}

	/** Takes everything out and refuses new registrations. Resolves when the registry knows, or at `close`. Idempotent. */
	async drain(): Promise<void> {
		if (this.#state === 'open') {
			this.#state = 'draining';
			this.#clock.clearTimeout(this.#adoptTimer);
			// Each goes on trying; what comes of it is told by the events.
			for (const registration of [...this.#byId.values()]) registration.withdraw().catch(() => undefined);
		}
		if (this.#state === 'closed' || this.#byId.size === 0) return;
		await new Promise<void>((resolve) => this.#emptied.add(resolve));
	}

	/** Stops at once. What the registry still knows becomes critical there, and is then taken out by it. */
	close(): void {
		if (this.#state === 'closed') return;
		this.#state = 'closed';
		this.#clock.clearTimeout(this.#adoptTimer);
		for (const registration of this.#byId.values()) registration.close();
		this.#byId.clear();
		this.#tellEmptied();
	}

	/** Every registration and how it is. */
	list(): RegistrationStatus[] {
		return [...this.#byId.values()].flatMap((registration) => registration.status() ?? []);
	}

	#adopt(found: OwnedInstance): void {
		const { id } = found.definition;
		// An app may have come already; and past the limit the registry itself cleans up.
		if (this.#byId.has(id) || this.#byId.size >= this.#registrationsMax) return;
		const registration = new Registration(found.definition, found.health, this.#context);
		this.#byId.set(id, registration);
		registration.found(found);
	}

	#refuseOverLimit(id: string, known: Registration | undefined, holder: RegistrationHolder): void {
		if (known === undefined && this.#byId.size >= this.#registrationsMax) {
			const message = `${this.#registrationsMax} instances are registered here, which is the limit`;
			throw new SpockError('OVERLOADED', message, { details: { id, registrationsMax: this.#registrationsMax } });
		}
		if (known?.holders.has(holder) || !this.#holders.has(holder)) return;
		const held = [...this.#byId.values()].filter(({ holders }) => holders.has(holder)).length;
		if (held < this.#perHolderMax) return;
		const message = `this connection has registered ${held} instances, which is the limit`;
		throw new SpockError('OVERLOADED', message, { details: { id, registrationsPerHolderMax: this.#perHolderMax } });
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
