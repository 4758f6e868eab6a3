import type { MachineTable } from '@spock/protocol/internal';

import type { HoldOutcome } from './empty-hold.ts';

export type CacheEntryState = 'cold' | 'fresh' | 'held' | 'confirming' | 'stale' | 'evicted';
export type CacheEntryEvent =
	| 'answered, same'
	| 'answered, different'
	| 'late, same'
	| 'late, different'
	| 'emptied'
	| 'hold due'
	| 'hold over'
	| 'failed'
	| 'stood still'
	| 'restored'
	| 'idle'
	| 'close';
export type CacheEntryAction =
	| 'verify'
	| 'publish'
	| 'settle waiters'
	| 'report the failure'
	| 'reject waiters'
	| 'start the hold'
	| 'ask anew'
	| 'end the hold'
	| 'stop the watch';

/**
 * The life of one cached query. A stale entry is still served, with its age; so is a held one, whose registry reports that nothing is
 * left, until the hold is due and a new watch confirms it (`confirming`): the old watch would wait for a change after a wrong answer.
 * `hold over`: the empty answer can be believed at once. `late`: an answer that came too late, or was confirmed too long ago, to be
 * live. `stood still`: this process did not run for a while, and asks anew. `restored`: the answer of an earlier process is served.
 */
export const cacheEntryMachine: MachineTable<CacheEntryState, CacheEntryEvent, CacheEntryAction> = {
	cold: {
		'answered, same': ['fresh', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		'late, same': ['stale', 'verify', 'publish', 'settle waiters'],
		'late, different': ['stale', 'verify', 'publish', 'settle waiters'],
		emptied: ['fresh', 'verify', 'publish', 'settle waiters'],
		failed: ['cold', 'report the failure'],
		restored: ['stale', 'publish', 'settle waiters'],
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	fresh: {
		'answered, same': ['fresh', 'verify', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		'late, same': ['stale', 'verify', 'publish', 'settle waiters'],
		'late, different': ['stale', 'verify', 'publish', 'settle waiters'],
		emptied: ['held', 'start the hold', 'publish', 'settle waiters'],
		failed: ['stale', 'publish', 'report the failure'],
		'stood still': ['stale', 'publish'],
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	held: {
		'answered, same': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'late, same': ['stale', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'late, different': ['stale', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'hold due': ['confirming', 'ask anew'],
		'hold over': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		failed: ['stale', 'end the hold', 'publish', 'report the failure'],
		idle: ['evicted', 'end the hold', 'stop the watch'],
		close: ['evicted', 'end the hold', 'stop the watch', 'reject waiters'],
	},
	confirming: {
		'answered, same': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'late, same': ['stale', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'late, different': ['stale', 'end the hold', 'verify', 'publish', 'settle waiters'],
		emptied: ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'hold over': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		failed: ['stale', 'end the hold', 'publish', 'report the failure'],
		idle: ['evicted', 'end the hold', 'stop the watch'],
		close: ['evicted', 'end the hold', 'stop the watch', 'reject waiters'],
	},
	stale: {
		'answered, same': ['fresh', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		'late, same': ['stale', 'verify', 'settle waiters'],
		'late, different': ['stale', 'verify', 'publish', 'settle waiters'],
		emptied: ['held', 'start the hold', 'publish', 'settle waiters'],
		failed: ['stale', 'report the failure'],
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	evicted: {},
};

/** The outcome of a hold, by the event that ends it. */
const HOLD_OUTCOMES = {
	emptied: 'emptied',
	'hold over': 'emptied',
	failed: 'failed',
	idle: 'dropped',
	close: 'dropped',
} as const;

/** The outcome of a hold that this event ends, with an empty answer or not. */
export function holdOutcome(event: CacheEntryEvent, isEmpty: boolean): HoldOutcome {
	return HOLD_OUTCOMES[event as keyof typeof HOLD_OUTCOMES] ?? (isEmpty ? 'emptied' : 'returned');
}
