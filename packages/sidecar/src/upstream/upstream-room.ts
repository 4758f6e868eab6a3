import { type Backend, DEFAULT_KEY_ENTRIES_MAX, DEFAULT_REGISTRATIONS_MAX } from '@spock/discovery';

import { limitTable } from '../foundation/limits.ts';

/**
 * What another sidecar has room for, for this one as one of its clients, by its defaults. This one takes no more from its own clients: what
 * is over would be refused there, to whoever comes last, and not here, to the one that has most.
 */
export const UPSTREAM_QUERIES_MAX: NonNullable<Backend['queriesMax']> = {
	services: limitTable.subscriptionsMax.default,
	keys: DEFAULT_KEY_ENTRIES_MAX / 2,
	lists: 2,
};
/** The same, of registrations. */
export const UPSTREAM_REGISTRATIONS_MAX: number = DEFAULT_REGISTRATIONS_MAX / 2;
