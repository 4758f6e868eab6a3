import { type RegistrationReply, type RegistrationState, SpockError } from '@spock/protocol';

import type { RegistrationPhase } from '../foundation/discovery-event.ts';
import type { InstanceDefinition, InstanceHealth, Registrar, RegistrationTerms } from '../foundation/registrar.ts';

/** The health of an instance whose app is away. */
export const LOST_HEALTH: InstanceHealth = {
	status: 'critical',
	note: 'the app has lost its connection to its sidecar',
};

export function isSameHealth(left: InstanceHealth, right: InstanceHealth): boolean {
	return left.status === right.status && left.note === right.note;
}

/** What the registry is assumed to know of one instance, and the calls that change it. */
export class RegistryEntry {
	readonly #registrar: Registrar;
	readonly #terms: RegistrationTerms;
	#definition: InstanceDefinition | undefined;
	#instance: string | null = null;
	#wasKnown = false;

	constructor(registrar: Registrar, terms: RegistrationTerms) {
		this.#registrar = registrar;
		this.#terms = terms;
	}

	get isKnown(): boolean {
		return this.#definition !== undefined;
	}

	/** True once the registry has ever known it. */
	get wasKnown(): boolean {
		return this.#wasKnown;
	}

	/** Its name in snapshots, if the registry has returned it. */
	get instance(): string | null {
		return this.#instance;
	}

	/** It was registered before this process started. Without a definition, everything is written again when the app is back. */
	found(instance: string | null, definition: InstanceDefinition | undefined): void {
		this.#instance = instance;
		this.#definition = definition;
		this.#wasKnown = true;
	}

	/** The registry has lost it, or everything must be written again. */
	lose(): void {
		this.#definition = undefined;
	}

	/** Reports the health, or registers if the registry does not know this definition. */
	async write(definition: InstanceDefinition, health: InstanceHealth): Promise<void> {
		if (this.#definition === definition) {
			await this.#registrar.report(definition.id, health);
			return;
		}
		try {
			this.#instance = await this.#registrar.register(definition, health, this.#terms);
		} catch (error) {
			// Lost during the registration: retry with the back-off, and not at once.
			if (!SpockError.is(error, 'NO_SUCH_SERVICE')) throw error;
			throw new SpockError('UNAVAILABLE', error.message, { details: error.details, cause: error });
		}
		this.#definition = definition;
		this.#wasKnown = true;
	}

	/** Deregisters it. An instance that the registry does not know counts as deregistered: retrying at once would never end. */
	async remove(id: string): Promise<void> {
		try {
			await this.#registrar.deregister(id);
		} catch (error) {
			if (!SpockError.is(error, 'NO_SUCH_SERVICE')) throw error;
		}
		this.#definition = undefined;
	}
}

/** The state of one registration. */
export interface RegistrationFacts {
	readonly definition: InstanceDefinition;
	readonly phase: RegistrationPhase;
	readonly instance: string | null;
	/** True while the registry is assumed to know it. */
	readonly isKnown: boolean;
	/** Why the last write failed. */
	readonly error: SpockError | undefined;
	/** True while the sidecar ends: instances deregistered then return with the next one. */
	readonly isDraining: boolean;
}

/** The state of a registration, as sent to apps. */
export function replyOf(facts: RegistrationFacts): RegistrationReply {
	const { definition, instance } = facts;
	const state = stateOf(facts);
	return { id: definition.id, service: definition.service, instance, state, error: reasonOf(state, facts) };
}

function stateOf({ phase, isKnown, error, isDraining }: RegistrationFacts): RegistrationState {
	if (phase === 'leaving' || phase === 'gone') return isDraining ? 'pending' : 'deregistered';
	const isThere = isKnown || phase === 'adopted';
	return isThere && error === undefined ? 'registered' : 'pending';
}

function reasonOf(state: RegistrationState, { phase, error }: RegistrationFacts): string | null {
	if (state === 'registered') return null;
	// A requested end has no reason; a refusal has one.
	if (state === 'deregistered') return phase === 'gone' ? (error?.message ?? null) : null;
	if (phase === 'leaving' || phase === 'gone') return 'the sidecar is shutting down';
	return error?.message ?? 'the registry has not been updated yet';
}
