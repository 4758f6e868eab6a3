import type { Clock, Random } from '@spock/protocol/internal';

import type { Registrar, RegistrationTerms } from './registrar.ts';

/** What a registration, an `R`, shares with the others. */
export interface RegistrationContext<R> {
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
	readonly changed: (registration: R) => void;
	/** It is gone: nobody wants it, and the registry does not know it any more. */
	readonly forget: (registration: R) => void;
}
