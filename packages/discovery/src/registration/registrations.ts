import {
	type RegisterServiceData,
	type RegistrationReply,
	type RegistrationStatus,
	type ReportServiceData,
	SpockError,
} from '@spock/protocol';
import { type Clock, systemClock } from '@spock/protocol/internal';

import { type InstanceDefinition, type OwnedInstance, otherAppError, otherCaseError } from '../foundation/registrar.ts';
import { Adoption } from './adoption.ts';
import { answerInTime, type RegistrationWait } from './answer-in-time.ts';
import { Registration, type RegistrationContext } from './registration.ts';
import { appOf, definitionOf, healthOf } from './registration-data.ts';
import type { RegistrationHolder } from './registration-holders.ts';
import { RegistrationRoom } from './registration-room.ts';
import {
	type RegistrationsOptions,
	type ResolvedRegistrationsOptions,
	resolveRegistrationsOptions,
} from './registrations-options.ts';

/**
 * The registrations of one sidecar: kept alive while they have a holder, repeated when the registry loses them, and deregistered when
 * no holder wants them any more. Throws a RangeError or TypeError naming an invalid option.
 */
export class Registrations {
	readonly #options: RegistrationsOptions;
	readonly #resolved: ResolvedRegistrationsOptions;
	readonly #clock: Clock;
	readonly #context: RegistrationContext;
	readonly #adoption: Adoption;
	readonly #room: RegistrationRoom;
	readonly #byId = new Map<string, Registration>();
	/** Every holder that ever registered: most connections never do, and their end then costs nothing. */
	readonly #holders = new WeakSet<RegistrationHolder>();
	readonly #emptied = new Set<() => void>();
	readonly #endListening: (() => void) | undefined;
	#state: 'open' | 'released' | 'leaving' | 'draining' | 'closed' = 'open';

	constructor(options: RegistrationsOptions) {
		const { registrar, clock = systemClock, random, onEvent } = options;
		this.#options = options;
		this.#resolved = resolveRegistrationsOptions(options);
		this.#clock = clock;
		const { terms, reconnectGraceMs } = this.#resolved;
		const room = { ...this.#resolved, graceMs: reconnectGraceMs, clock, registrations: this.#byId };
		this.#room = new RegistrationRoom(room);
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
			moved: ({ id, service, instance }, from) => {
				onEvent?.({ type: 'registration-moved', id, service, from, to: instance });
			},
			forget: (registration) => this.#forget(registration),
		};
		this.#endListening = registrar.onLost?.((id) => this.#byId.get(id)?.rewrite());
		this.#adoption = new Adoption({
			clock,
			...(random && { random }),
			// A third-party registrar may throw, or return something other than a list: both are failures.
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
	 * Registers an instance for this holder, or adds the holder to a registered one. Resolves with the state after the first write:
	 * `pending` if the registry is unreachable, or slower than the caller waits. A caller that gives up before that does not become a
	 * holder by this claim. Throws OVERLOADED, BAD_REQUEST (another client has registered the id otherwise) and UNAVAILABLE (this sidecar is
	 * ending), ACL_DENIED (another app has registered the id); rejects with what the registry refuses it with.
	 */
	claim(
		data: RegisterServiceData,
		holder: RegistrationHolder,
		wait: RegistrationWait = {},
	): Promise<RegistrationReply> {
		const { advertise, zone, owner, machine = owner } = this.#options;
		// A successor asks the registry once: an instance that outlives this connection must be registered by then.
		if (this.#isEnding || (this.#state === 'released' && data.bind === 'sidecar'))
			throw new SpockError('UNAVAILABLE', 'the sidecar is shutting down: register again with the next one');
		const app = appOf(holder, data.app);
		const definition = definitionOf(data, { advertise, zone, machine }, app);
		const health = healthOf(data);
		const known = this.#byId.get(definition.id);
		known?.definition.expectApp(app);
		this.#refuseUnnamed(holder);
		known?.definition.expectDefinable(definition, holder);
		if (known === undefined) this.#refuseOtherCase(definition.id);
		else if (data.id === undefined) refuseOtherService(known.definition.value, definition);
		this.#room.enter(definition.id, known, holder);
		const registration = known ?? new Registration(definition, health, this.#context);
		this.#byId.set(definition.id, registration);
		this.#holders.add(holder);
		const { written, gaveUp } = registration.claim(definition, health, holder);
		return this.#inTime(registration, written, wait, gaveUp);
	}

	/** A holder's report on an instance. Throws NO_SUCH_SERVICE for an id that is not registered here, ACL_DENIED for another client's. */
	report(data: ReportServiceData, holder: RegistrationHolder, wait: RegistrationWait = {}): Promise<RegistrationReply> {
		const app = appOf(holder, data.app);
		const registration = this.#byId.get(data.id);
		if (registration === undefined || registration.phase === 'leaving') {
			const message = `no instance is registered here with the id ${data.id}: register it first`;
			throw new SpockError('NO_SUCH_SERVICE', message, { details: { id: data.id } });
		}
		registration.definition.expectApp(app);
		registration.definition.expectOwn(holder);
		return this.#inTime(registration, registration.report(healthOf(data), holder), wait, () => undefined);
	}

	/**
	 * Gives up the claims of this holder's client; the last client deregisters the instance. Resolves when the registry has confirmed it,
	 * and retries until then; at once while another client holds it. `said` is the app that a sidecar does it for. Rejects with ABORTED,
	 * and with ACL_DENIED for another client's or app's.
	 */
	async withdraw(id: string, holder: RegistrationHolder, signal?: AbortSignal, said?: string): Promise<void> {
		const app = appOf(holder, said);
		// It may be one from before a restart, which the registry has not returned yet.
		const isKnown = this.#byId.has(id);
		if (!isKnown) await this.#adoption.settled(signal);
		const registration = this.#byId.get(id);
		// An instance that was registered while this waited stays.
		if (registration === undefined || (!isKnown && registration.holders.size > 0)) return;
		registration.definition.expectApp(app);
		registration.definition.expectOwn(holder);
		await registration.withdraw(signal, holder);
	}

	/** Why this holder's reports do not count: it was silent for too long; undefined: it is heard again. */
	silence(holder: RegistrationHolder, reason: string | undefined): void {
		if (!this.#holders.has(holder)) return;
		for (const registration of this.#byId.values()) registration.silence(holder, reason);
	}

	/**
	 * This holder is gone. Instances that are bound to its connection and have no other holder become critical; if it `hasMoved` to another
	 * process with the same owner, they are left to that one.
	 */
	abandon(holder: RegistrationHolder, hasMoved = false): void {
		if (!this.#holders.delete(holder)) return;
		for (const registration of [...this.#byId.values()]) {
			// The others that hold it here go on without this one.
			const isShared = hasMoved && registration.holders.size > 1;
			const isLeft = hasMoved || this.#state === 'released' || this.#state === 'leaving';
			if (isLeft && !isShared) this.#letGo(registration, holder);
			else registration.abandon(holder);
		}
	}

	/**
	 * Another process takes over everything, under the same owner: nothing is deregistered or made critical here any more. The instance
	 * of an app is renewed here until the app has moved, and then left to the other process. Idempotent.
	 */
	release(): void {
		if (this.#state !== 'open') return;
		this.#state = 'released';
		this.#adoption.stop();
		for (const registration of [...this.#byId.values()]) this.#letGo(registration);
	}

	/**
	 * Finds what this sidecar registered before its restart; retries until the registry answers, and looks once more when the grace is
	 * over.
	 */
	adopt(): void {
		this.#adoption.start();
	}

	/** Deregisters everything and refuses new registrations. Resolves when the registry has confirmed it, or at `close`. Idempotent. */
	drain(): Promise<void> {
		return this.#end('draining');
	}

	/**
	 * Leaves the instances of connected apps in the registry, for the next sidecar to find, and deregisters the rest: those that apps have
	 * left, and those bound to this sidecar. Refuses new registrations. An instance with a holder is renewed, and can be deregistered by
	 * its app, until its connection ends. Resolves when the registry has confirmed the deregistrations, or at `close`. Idempotent.
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
				// An app that this sidecar has not seen yet may be alive: the next sidecar waits for it.
				if (how === 'leaving' && registration.phase === 'adopted') this.#letGo(registration);
				// Each goes on retrying, and reports its outcome by events.
				else registration.withdraw().catch(() => undefined);
			}
		}
		if (!this.#isEnding || this.#isTakenOut) return;
		await new Promise<void>((resolve) => this.#emptied.add(resolve));
	}

	/** True when no write to the registry is left. */
	get #isTakenOut(): boolean {
		if (this.#state !== 'leaving') return this.#byId.size === 0;
		return [...this.#byId.values()].every(({ holders }) => holders.size > 0);
	}

	/** Stops at once. Instances that the registry still knows become critical there, and are later deregistered by it. */
	close(): void {
		if (this.#state === 'closed') return;
		this.#state = 'closed';
		this.#adoption.stop();
		this.#endListening?.();
		for (const registration of this.#byId.values()) registration.close();
		this.#byId.clear();
		this.#tellEmptied();
	}

	/** Every registration and its state. */
	list(): RegistrationStatus[] {
		return [...this.#byId.values()].flatMap((registration) => registration.status() ?? []);
	}

	/** Those that just this connection holds. */
	heldBy(holder: RegistrationHolder): RegistrationStatus[] {
		if (!this.#holders.has(holder)) return [];
		const held = [...this.#byId.values()].filter(({ holders }) => holders.isHeldBy(holder));
		return held.flatMap((registration) => registration.status() ?? []);
	}

	get #isEnding(): boolean {
		return this.#state === 'leaving' || this.#state === 'draining' || this.#state === 'closed';
	}

	/** Forgets what has no holder here any more, without a write to the registry. */
	#letGo(registration: Registration, holder?: RegistrationHolder): void {
		if (holder !== undefined && registration.holders.delete(holder) === undefined) return;
		if (registration.holders.size > 0) return;
		// A deregistration in progress is completed, because its app has requested it.
		if (registration.phase === 'leaving') return;
		registration.close();
		this.#forget(registration);
	}

	#adopt(found: OwnedInstance): void {
		const { id, app } = found.definition;
		const earlier = this.#byId.get(id);
		// Another app has come first, and nothing of it is written yet, or it is the earlier sidecar that has written since.
		if (app !== undefined && earlier !== undefined && earlier.definition.value.app !== app)
			earlier.yield(otherAppError(id));
		// A client has registered it already, which may not be the owner.
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

	/** Consul has one instance for two ids that differ in case alone: the later one would replace the other. */
	#refuseOtherCase(id: string): void {
		const folded = id.toLowerCase();
		for (const other of this.#byId.keys()) {
			if (other.toLowerCase() === folded) throw otherCaseError(id, other);
		}
	}

	#refuseUnnamed({ app }: RegistrationHolder): void {
		if (app !== undefined || !this.#resolved.registrationsNamedOnly) return;
		throw new SpockError('ACL_DENIED', 'this sidecar registers only for clients whose token has a name: NAME: TOKEN');
	}

	#forget(registration: Registration): void {
		this.#room.left(registration);
		// Another one with the same id may have replaced it.
		if (this.#byId.get(registration.id) === registration) this.#byId.delete(registration.id);
		if (this.#isTakenOut) this.#tellEmptied();
	}

	#tellEmptied(): void {
		for (const resolve of this.#emptied) resolve();
		this.#emptied.clear();
	}
}

/** By default the service `a` at the host `b-c` has the id of `a-b` at `c`. */
function refuseOtherService(known: InstanceDefinition, { id, service }: InstanceDefinition): void {
	if (known.service === service) return;
	const message = `the default id ${id} is that of an instance of ${known.service} already: register with an id`;
	throw new SpockError('BAD_REQUEST', message, { details: { path: 'id', id } });
}
