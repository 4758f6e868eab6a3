import type { FuncName } from '@spock/protocol';

import type { CallTraits } from '../calls/call.ts';
import { makeTraits } from '../calls/call-traits.ts';
import { readKeySnapshot } from './read-key-snapshot.ts';
import { readAddress, readList, readSnapshot } from './read-snapshot.ts';

/** A lookup whose reply is one address. */
export const ADDRESS: CallTraits = makeTraits({ idempotent: true, memoised: true, read: readAddress });
/** A lookup whose reply is a snapshot. */
export const SNAPSHOT: CallTraits = makeTraits({ idempotent: true, read: readSnapshot });
/** The names of all services. */
export const LIST: CallTraits = makeTraits({ idempotent: true, read: readList });
/** A subscription of one session: made anew on the next one, so not repeated by itself. Lookups wait for its answer. */
export const SUBSCRIBE: CallTraits = makeTraits({ read: readSnapshot });
/** As SNAPSHOT and SUBSCRIBE, of keys. */
export const KEY_SNAPSHOT: CallTraits = makeTraits({ idempotent: true, read: readKeySnapshot });
export const SUBSCRIBE_KEY: CallTraits = makeTraits({ read: readKeySnapshot });
/** A subscription that is made again, on a new connection or because it was refused: for whom, nobody can say. */
export const RESUBSCRIBE: CallTraits = makeTraits({ own: true, read: readSnapshot });
export const RESUBSCRIBE_KEY: CallTraits = makeTraits({ own: true, read: readKeySnapshot });

/** How `request` treats a function: lookups are checked as they are elsewhere, so that their types are true. */
export const REQUEST_TRAITS: Readonly<Partial<Record<FuncName, CallTraits>>> = {
	getService: makeTraits({ memoised: true, read: readAddress }),
	getInstances: SUBSCRIBE,
	watchService: SUBSCRIBE,
	getKey: SUBSCRIBE_KEY,
	watchKey: SUBSCRIBE_KEY,
	listServices: makeTraits({ read: readList }),
};
