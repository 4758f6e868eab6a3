import { type Backend, DEFAULT_KEY_ENTRIES_MAX, DEFAULT_REGISTRATIONS_MAX } from '@spock/discovery';

import { limitTable } from '../foundation/limits.ts';

/**
 * The room that another sidecar has by default for this one, which is one of its clients. This one takes no more from its own clients, so that
 * each of them is refused by its own share, and not because another one has used up the room there.
 */
export const UPSTREAM_QUERIES_MAX: NonNullable<Backend['queriesMax']> = {
	services: limitTable.subscriptionsMax.default,
	keys: DEFAULT_KEY_ENTRIES_MAX / 2,
	lists: 2,
};
/** The same, of registrations. */
export const UPSTREAM_REGISTRATIONS_MAX: number = DEFAULT_REGISTRATIONS_MAX / 2;
