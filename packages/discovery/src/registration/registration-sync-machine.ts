import type { MachineTable } from '@spock/protocol/internal';

export type SyncState = 'in step' | 'writing' | 'outdated' | 'backing off' | 'stopped';
export type SyncEvent = 'wanted' | 'wanted now' | 'written' | 'lost' | 'failed' | 'due' | 'stop';
export type SyncAction = 'write' | 'reset retries' | 'schedule refresh' | 'schedule retry' | 'cancel timer';

/**
 * What the registry has been told of one registration: one write at a time, and the newest want only. Writes are never cut
 * short to hurry the next one: the registry may still carry out a request whose answer nobody awaits, and a registration
 * that overtakes its deregistration would stay.
 *
 * `wanted`: something else shall be written; `wanted now`: without waiting for the next retry. `lost`: the registry does
 * not know the instance any more, and is told everything again. In `in step` the time to live is renewed when `due`.
 */
export const registrationSyncMachine: MachineTable<SyncState, SyncEvent, SyncAction> = {
	'in step': {
		wanted: ['writing', 'cancel timer', 'write'],
		'wanted now': ['writing', 'cancel timer', 'write'],
		due: ['writing', 'write'],
		stop: ['stopped', 'cancel timer'],
	},
	writing: {
		wanted: ['outdated'],
		'wanted now': ['outdated'],
		written: ['in step', 'reset retries', 'schedule refresh'],
		lost: ['writing', 'write'],
		failed: ['backing off', 'schedule retry'],
		stop: ['stopped'],
	},
	outdated: {
		written: ['writing', 'reset retries', 'write'],
		lost: ['writing', 'write'],
		failed: ['backing off', 'schedule retry'],
		stop: ['stopped'],
	},
	'backing off': {
		'wanted now': ['writing', 'cancel timer', 'write'],
		due: ['writing', 'write'],
		stop: ['stopped', 'cancel timer'],
	},
	stopped: {},
};
