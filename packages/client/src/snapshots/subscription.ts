import { SpockError } from '@spock/protocol';

import type { Session } from '../connection/session.ts';
import type { PublishedSnapshot, StoredSnapshot } from './stored-snapshot.ts';

/** A stored snapshot that the sidecar feeds. */
export interface Subscription<Q, S extends PublishedSnapshot> {
	readonly stored: StoredSnapshot<Q, S>;
	/** The session on which it is, or is being, subscribed. */
	session: Session | undefined;
	/** The process that sent the newest snapshot: revisions are comparable only within one process. Undefined before the first. */
	instance: string | null | undefined;
	/** What was sent last on the session, for a delta to build on. Undefined until the answer to the subscription has come. */
	base: S | undefined;
	/** The newest revision of the deltas that came while there was no base. */
	missedRevision: number;
	/** True while what was sent on the session may have waited for this process: which stood still. */
	isWaited: boolean;
}

/** The process at the other end; null if it sends no name. */
export function instanceOf({ greeting }: Session): string | null {
	return greeting?.instance ?? null;
}

/** UNKNOWN_FUNC: a baseline sidecar cannot serve a watch. */
export function noPushesError(): SpockError {
	return new SpockError('UNKNOWN_FUNC', 'this sidecar is too old to push changes; upgrade it');
}
