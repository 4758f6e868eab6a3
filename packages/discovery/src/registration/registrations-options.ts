import {
	booleanOption,
	type Clock,
	durationMsOption,
	integerOption,
	type Random,
	stringOption,
} from '@spock/protocol/internal';

import type { DiscoveryListener } from '../foundation/discovery-event.ts';
import type { Registrar, RegistrationTerms } from '../foundation/registrar.ts';

/** How long an app that has lost its connection may take to come back. */
export const DEFAULT_RECONNECT_GRACE_MS = 30_000;
/** Without a renewal for this long, the registry marks an instance critical. */
export const DEFAULT_TTL_MS = 15_000;
/** Critical for this long, the registry deregisters an instance by itself. */
export const DEFAULT_DEREGISTER_AFTER_MS = 600_000;
export const DEFAULT_REGISTRATIONS_MAX = 1024;
export const DEFAULT_REGISTRATIONS_PER_HOLDER_MAX = 64;
/** Longest name of an owner: Consul's limit for a value in metadata. */
const OWNER_LENGTH_MAX = 512;

/** Options of `Registrations`. */
export interface RegistrationsOptions {
	readonly registrar: Registrar;
	/**
	 * Identifies this sidecar across restarts, and no other one of the registry: by it, it finds its own registrations. At
	 * most 512 characters.
	 */
	readonly owner: string;
	/** The host of instances that are registered without one. Default: the address of the registry's agent. */
	readonly advertise?: string;
	/** The metadata `zone` of instances that are registered without one. Default: none. */
	readonly zone?: string;
	/** Part of the ids of instances that are registered without one: differs for every pod and machine of one agent. Default: `owner`. */
	readonly machine?: string;
	/** How long an app may take to come back before its instance is deregistered, in milliseconds, 0 allowed. Default 30000. */
	readonly reconnectGraceMs?: number;
	/** Time to live of an instance at the registry, in milliseconds, 1000 to 86400000. Renewed three times in it. Default 15000. */
	readonly ttlMs?: number;
	/** After how long critical the registry deregisters an instance by itself, in milliseconds; Consul's minimum is a minute. Default 600000. */
	readonly deregisterAfterMs?: number;
	/** Registrations at once; the next one replaces one that no client has held for the grace, or is OVERLOADED. Default 1024, or as many as the registrar can hold. */
	readonly registrationsMax?: number;
	/** Registrations of one connection; the next one is OVERLOADED. Default 64. */
	readonly registrationsPerHolderMax?: number;
	/** True: only clients that have shown the token of an app may register. Default false. */
	readonly registrationsNamedOnly?: boolean;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Default `Math.random`. */
	readonly random?: Random;
	readonly onEvent?: DiscoveryListener;
}

/** The options that are numbers and names, checked, with the defaults filled in. */
export interface ResolvedRegistrationsOptions {
	readonly terms: RegistrationTerms;
	readonly reconnectGraceMs: number;
	readonly registrationsMax: number;
	readonly registrationsPerHolderMax: number;
	readonly registrationsNamedOnly: boolean;
}

/** Checks the options and fills in the defaults. Throws a RangeError or TypeError naming option and value. */
export function resolveRegistrationsOptions(options: RegistrationsOptions): ResolvedRegistrationsOptions {
	const {
		owner,
		ttlMs = DEFAULT_TTL_MS,
		deregisterAfterMs = DEFAULT_DEREGISTER_AFTER_MS,
		reconnectGraceMs = DEFAULT_RECONNECT_GRACE_MS,
		registrar,
		registrationsMax = Math.min(DEFAULT_REGISTRATIONS_MAX, registrar.registrationsMax ?? DEFAULT_REGISTRATIONS_MAX),
		registrationsPerHolderMax = DEFAULT_REGISTRATIONS_PER_HOLDER_MAX,
		registrationsNamedOnly = false,
	} = options;
	if (stringOption('owner', owner).length > OWNER_LENGTH_MAX) {
		throw new RangeError(`owner must have at most ${OWNER_LENGTH_MAX} characters, not ${owner.length}`);
	}
	return {
		terms: {
			ttlMs: integerOption('ttlMs', ttlMs, 1000, 86_400_000),
			deregisterAfterMs: durationMsOption('deregisterAfterMs', deregisterAfterMs),
			owner,
		},
		reconnectGraceMs: durationMsOption('reconnectGraceMs', reconnectGraceMs, 0),
		registrationsMax: integerOption('registrationsMax', registrationsMax, 0, 1_000_000),
		registrationsPerHolderMax: integerOption('registrationsPerHolderMax', registrationsPerHolderMax, 1, 1_000_000),
		registrationsNamedOnly: booleanOption('registrationsNamedOnly', registrationsNamedOnly),
	};
}
