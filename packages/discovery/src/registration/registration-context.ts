import type { RegistrationReply } from '@spock/protocol';
import type { Clock, Random } from '@spock/protocol/internal';

import type { Registrar, RegistrationTerms } from './registrar.ts';
import type { Registration } from './registration.ts';

/** Whoever registered: a connection of an app, or the app itself. */
export interface RegistrationHolder {
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
	readonly changed: (registration: Registration) => void;
	/** It is gone: nobody wants it, and the registry does not know it any more. */
	readonly forget: (registration: Registration) => void;
}
