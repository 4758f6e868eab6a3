import type { MachineTable } from '@spock/protocol/internal';

export type CacheEntryState = 'cold' | 'fresh' | 'stale' | 'evicted';
export type CacheEntryEvent = 'answered, same' | 'answered, different' | 'failed' | 'idle' | 'close';
export type CacheEntryAction = 'verify' | 'publish' | 'settle waiters' | 'reject waiters' | 'stop the watch';

/** The life of one cached question. A stale entry is still served, with its age. */
export const cacheEntryMachine: MachineTable<CacheEntryState, CacheEntryEvent, CacheEntryAction> = {
	cold: {
		'answered, same': ['fresh', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		failed: ['cold', 'reject waiters'],
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	fresh: {
		'answered, same': ['fresh', 'verify'],
		'answered, different': ['fresh', 'verify', 'publish'],
		failed: ['stale', 'publish'],
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	stale: {
		'answered, same': ['fresh', 'verify', 'publish', 'settle waiters'],
		'answered, different': ['fresh', 'verify', 'publish', 'settle waiters'],
		failed: ['stale', 'reject waiters'],
		idle: ['evicted', 'stop the watch'],
		close: ['evicted', 'stop the watch', 'reject waiters'],
	},
	evicted: {
		'answered, same': null,
		'answered, different': null,
		failed: null,
		idle: null,
		close: null,
	},
};
