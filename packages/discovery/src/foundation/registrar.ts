import {
	type RegistrationBind,
	type RegistrationCheck,
	type RegistrationWeights,
	type ReportedStatus,
	SpockError,
	type TaggedAddress,
} from '@spock/protocol';

/** One instance as it is to stand in the registry. */
export interface InstanceDefinition {
	readonly id: string;
	readonly service: string;
	/** Default: the address of the registry's agent. */
	readonly host?: string;
	readonly port: number;
	readonly tags: readonly string[];
	readonly meta: Readonly<Record<string, string>>;
	readonly weights?: RegistrationWeights;
	readonly taggedAddresses?: Readonly<Record<string, TaggedAddress>>;
	readonly check?: RegistrationCheck;
	readonly bind: RegistrationBind;
	/** Identity of the client that registered it first: by it, a sidecar that is restarted knows whose it is. Not its secret. */
	readonly claimant?: string;
	/** The app that registered it, by its token: no other may change it, whatever has become of the client. Absent: unknown. */
	readonly app?: string;
	/** True for one that was found: the registry may have added tagged addresses, and may not show the check that it does. */
	readonly isPartial?: boolean;
}

/** The health of an instance, and why. */
export interface InstanceHealth {
	readonly status: ReportedStatus;
	/** For people; empty when there is nothing to say. */
	readonly note: string;
}

/** How long the registry keeps what it hears nothing of, in milliseconds. */
export interface RegistrationTerms {
	/** Without a report for this long, an instance is critical. */
	readonly ttlMs: number;
	/** Critical for this long, it is deregistered by the registry itself: for instances whose machine is gone. */
	readonly deregisterAfterMs: number;
	/** Whose registrations these are: a sidecar that is restarted finds its own by it. */
	readonly owner: string;
}

/** An instance that was found at the registry. */
export interface OwnedInstance {
	readonly definition: InstanceDefinition;
	/** Its name in snapshots. */
	readonly instance: string | null;
	readonly health: InstanceHealth;
}

/**
 * The part of a registry's port that writes: single calls, each idempotent, one at a time for each id. Who keeps an
 * instance alive, repeats and retries is `Registrations`. All reject with UNAVAILABLE (try again), ACL_DENIED or
 * BAD_REQUEST (the registry refuses the definition).
 */
export interface Registrar {
	/** Most instances that it can hold, as behind another sidecar, which has a limit for each client. Default: no limit. */
	readonly registrationsMax?: number;
	/** Writes definition and health; gives the instance's name in snapshots, or null where the registry does not return it. */
	register(definition: InstanceDefinition, health: InstanceHealth, terms: RegistrationTerms): Promise<string | null>;
	/**
	 * Renews the instance's time to live and says how it is. Rejects with NO_SUCH_SERVICE when the registry has lost it, or must
	 * be told everything again.
	 */
	report(id: string, health: InstanceHealth): Promise<void>;
	/** Takes an instance out. One that is not there is no error. */
	deregister(id: string): Promise<void>;
	/** Everything that was registered with this owner and is still there. */
	owned(owner: string): Promise<readonly OwnedInstance[]>;
	/**
	 * Reports each time that an instance must be written again at once, because where it is registered has failed. Call what is returned
	 * to end it. Left out by a registry that is one place.
	 */
	onLost?(listener: (id: string) => void): () => void;
}

/** For whom it is: the app, or else the client. */
export function shareOf({ app, claimant }: InstanceDefinition): string {
	return app ?? claimant ?? '';
}

/** The answer to an id that differs in case alone from another one, which Consul's catalog would replace. */
export function otherCaseError(id: string, other: string): SpockError {
	const message = `the id ${id} differs from ${other}, which is registered, in case alone: the registry takes both for one`;
	return new SpockError('BAD_REQUEST', message, { details: { path: 'id', id } });
}

/** The answer to an app that may not change what another one has registered. It does not say which. */
export function otherAppError(id: string): SpockError {
	const message = `${id} is registered by another app; only that app may change it`;
	return new SpockError('ACL_DENIED', message, { details: { id } });
}
