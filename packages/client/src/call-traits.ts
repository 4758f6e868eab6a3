import type { FuncName } from '@spock/protocol';

import type { CallTraits } from './call.ts';
import { readAddress, readList, readSnapshot } from './read-snapshot.ts';

/** A call of `request`: what comes is passed on as it is, and nothing is sent twice. */
export const PLAIN: CallTraits = { idempotent: false, background: false, memoised: false, read: undefined };
/** A lookup whose reply is one address. */
export const ADDRESS: CallTraits = { idempotent: true, background: false, memoised: true, read: readAddress };
/** A lookup whose reply is a snapshot. */
export const SNAPSHOT: CallTraits = { idempotent: true, background: false, memoised: false, read: readSnapshot };
/** A question that may be asked again after a reconnect. */
export const QUESTION: CallTraits = { idempotent: true, background: false, memoised: false, read: undefined };
/** The names of all services. */
export const LIST: CallTraits = { idempotent: true, background: false, memoised: false, read: readList };
/** A subscription of one session: made anew on the next one, so not repeated by itself. Lookups wait for its answer. */
export const SUBSCRIBE: CallTraits = { idempotent: false, background: false, memoised: false, read: readSnapshot };
/** What nobody waits for. */
export const BACKGROUND: CallTraits = { idempotent: false, background: true, memoised: false, read: undefined };

/** How `request` treats a function: lookups are checked as they are elsewhere, so that their types are true. */
export const REQUEST_TRAITS: Readonly<Partial<Record<FuncName, CallTraits>>> = {
	getService: { ...ADDRESS, idempotent: false },
	getInstances: { ...SNAPSHOT, idempotent: false },
	watchService: { ...SNAPSHOT, idempotent: false },
	listServices: { ...LIST, idempotent: false },
};
