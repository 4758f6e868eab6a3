import type { MachineTable } from '@spock/protocol/internal';

export type CacheEntryState = 'cold' | 'fresh' | 'held' | 'stale' | 'evicted';
export type CacheEntryEvent =
	| 'answered, same'
	| 'answered, different'
	| 'emptied'
	| 'hold over'
	| 'failed'
	| 'restored'
	| 'idle'
	| 'close';
export type CacheEntryAction =
	| 'verify'
	| 'publish'
	| 'settle waiters'
	| 'reject waiters'
	| 'start the hold'
	| 'end the hold'
	| 'stop the watch';

/**
 * The life of one cached question. A stale entry is still served, with its age; so is a held one, whose registry says that
 * nothing is left, until that has been said for long enough. `restored`: what an earlier process kept is served.
 */
export const cacheEntryMachine: MachineTable<CacheEntryState, CacheEntryEvent, CacheEntryAction> = {
	cold: {
		'answered, same': ['fresh', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		emptied: ['fresh', 'verify', 'publish', 'settle waiters'],
		'hold over': null,
		failed: ['cold', 'reject waiters'],
		restored: ['stale', 'publish', 'settle waiters'],
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	fresh: {
		'answered, same': ['fresh', 'verify', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		emptied: ['held', 'start the hold', 'publish', 'settle waiters'],
		'hold over': null,
		failed: ['stale', 'publish', 'reject waiters'],
		restored: null,
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	held: {
		'answered, same': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		emptied: null,
		'hold over': ['fresh', 'end the hold', 'verify', 'publish', 'settle waiters'],
		failed: ['stale', 'end the hold', 'publish', 'reject waiters'],
		restored: null,
		idle: ['evicted', 'end the hold', 'stop the watch'],
		close: ['evicted', 'end the hold', 'stop the watch', 'reject waiters'],
	},
	stale: {
		'answered, same': ['fresh', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		emptied: ['held', 'start the hold', 'publish', 'settle waiters'],
		'hold over': null,
		failed: ['stale', 'reject waiters'],
		restored: null,
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	evicted: {
		'answered, same': null,
		'answered, different': null,
		emptied: null,
		'hold over': null,
		failed: null,
		restored: null,
		idle: null,
		close: null,
	},
};
