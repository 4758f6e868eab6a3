import type { Registrations } from '@spock/discovery';
import type { Clock, Random } from '@spock/protocol/internal';

import type { SidecarLimits } from '../foundation/limits.ts';
import type { SidecarObserver } from '../foundation/observer.ts';
import type { SidecarSource } from '../foundation/sidecar-source.ts';
import type { Listen, SidecarListen } from '../listen/listener.ts';
import type { TakeOverOptions } from '../take-over/take-over.ts';
import type { FrontOptions } from './front.ts';

/** Options of `createSidecar`. */
export interface SidecarOptions {
	/** Owned by the sidecar from now on: it closes it. */
	readonly source: SidecarSource;
	/** What apps register; owned by the sidecar from now on. Default: none, and registering is UNKNOWN_FUNC. */
	readonly registrations?: Registrations;
	/** At least one. */
	readonly listen: readonly SidecarListen[];
	/** Another protocol beside the sidecar's own. Default: none. */
	readonly front?: FrontOptions;
	readonly limits?: SidecarLimits;
	/** Takes the place of the sidecar that listens at the first path, if there is one. Default: refuses to start there. */
	readonly takeOver?: TakeOverOptions;
	/** Binds an address. For simulations; default: a socket of this process. */
	readonly listener?: Listen;
	/** Told what happens, to count and log it. */
	readonly observer?: SidecarObserver;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Runs a callback once every socket was looked at again. For simulations; default: `setImmediate`. */
	readonly defer?: (callback: () => void) => void;
	/** Uniform numbers in [0, 1), for jitter and picks. Default `Math.random`. */
	readonly random?: Random;
	/** Names this process; differs for every one. Default: a random UUID. */
	readonly instance?: string;
}
