import type { RegistrationReply } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { Registrar, RegistrationTerms } from './registrar.ts';
import type { Registration } from './registration.ts';

/** Whoever registered: a connection of an app, or the app itself. */
export interface RegistrationHolder {
	/** The same for every connection of one client, and of no other one; undefined for a client that says none. */
	readonly identity?: string | undefined;
	/** Of two connections of one client the newer has the larger: what the older says after it is late. Default: none is late. */
	readonly id?: number;
	/** Told whenever a registration that it holds changes. Must not throw. */
	told(registration: RegistrationReply): void;
}

/** What a registration shares with the others. */
export interface RegistrationContext {
	readonly registrar: Registrar;
	readonly terms: RegistrationTerms;
	readonly reconnectGraceMs: number;
	readonly clock: Clock;
	readonly random?: Random;
	/** True while the sidecar ends: what is taken out then is not gone for good. */
	readonly isDraining: () => boolean;
	/**
	 * Undefined once it is known what an earlier sidecar left. Until then resolves when it is, and rejects with the next failure to
	 * learn it: nothing is written before, because it may be another client's.
	 */
	readonly known: () => Promise<void> | undefined;
	readonly changed: (registration: Registration) => void;
	/** It is gone: nobody wants it, and the registry does not know it any more. */
	readonly forget: (registration: Registration) => void;
}
