import type { Push } from '@spock/protocol';

import type { Session } from './session.ts';

/** Told by a connection of what its subscriptions need to know. */
export interface ConnectionListener {
	/** New calls go to this session from now on: what is wanted must be subscribed to again. It has been greeted. */
	adopted(session: Session): void;
	/** There is no connection; what is known was true at `verifiedAtMs` of the clock. */
	lost(verifiedAtMs: number): void;
	push(session: Session, push: Push): void;
}
