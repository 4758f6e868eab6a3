import type { RegistrationReply, RegistrationState, SpockError } from '@spock/protocol';

import type { RegistrationPhase } from '../foundation/discovery-event.ts';
import type { InstanceDefinition } from '../foundation/registrar.ts';

/** What is known of one registration. */
export interface RegistrationFacts {
	readonly definition: InstanceDefinition;
	readonly phase: RegistrationPhase;
	readonly instance: string | null;
	/** True while the registry is believed to know it. */
	readonly isKnown: boolean;
	/** Why the last write failed. */
	readonly error: SpockError | undefined;
	/** True while the sidecar ends: what is taken out then comes back with the next one. */
	readonly isDraining: boolean;
}

/** How a registration is, as apps are told. */
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
	// One that ended because it was asked to has no reason; one that was refused has.
	if (state === 'deregistered') return phase === 'gone' ? (error?.message ?? null) : null;
	if (phase === 'leaving' || phase === 'gone') return 'the sidecar is shutting down';
	return error?.message ?? 'the registry has not been updated yet';
}
