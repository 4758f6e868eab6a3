import type { Clock } from '@spock/protocol/internal';

import type { Backend } from './backend.ts';
import type { DiscoveryListener } from './discovery-event.ts';

/** What `sidecar start --backend ./my-backend.js` gives to the function that makes the backend. */
export interface BackendContext {
	/** To be told of queries, so that they are counted and logged; must not be given a secret. */
	readonly onEvent: DiscoveryListener;
	/** Time; the clock of the process. */
	readonly clock: Clock;
}

/** The default export of a module with a backend. May throw, or reject, with an Error that says what to do. */
export type BackendFactory = (context: BackendContext) => Backend | Promise<Backend>;
