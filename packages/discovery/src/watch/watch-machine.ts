import type { MachineTable } from '@spock/protocol/internal';

export type WatchState = 'idle' | 'querying' | 'backing off' | 'stopped';
export type WatchEvent =
	| 'start'
	| 'unchanged'
	| 'changed'
	| 'index went back'
	| 'failed'
	| 'due'
	| 'reread'
	| 'retry'
	| 'stop';
export type WatchAction =
	| 'query'
	| 'query at the pace'
	| 'query soon'
	| 'retry later'
	| 'retry soon'
	| 'reset retries'
	| 'index 0'
	| 'notify'
	| 'cancel';

/**
 * The life of one blocking watch. `query at the pace` waits where the bucket is empty. `cancel` ends the query in flight or the
 * wait for the next one. `reread`: what is known may be outdated, and the query in flight would not reveal it. `retry`: what
 * failed may work again.
 */
export const watchMachine: MachineTable<WatchState, WatchEvent, WatchAction> = {
	idle: {
		start: ['querying', 'query'],
		stop: ['stopped'],
	},
	querying: {
		unchanged: ['querying', 'reset retries', 'notify', 'query at the pace'],
		changed: ['querying', 'reset retries', 'notify', 'query at the pace'],
		'index went back': ['querying', 'reset retries', 'index 0', 'notify', 'query at the pace'],
		failed: ['backing off', 'notify', 'index 0', 'retry later'],
		reread: ['querying', 'cancel', 'index 0', 'query soon'],
		stop: ['stopped', 'cancel'],
	},
	'backing off': {
		due: ['querying', 'query'],
		reread: ['backing off', 'cancel', 'retry soon'],
		retry: ['backing off', 'cancel', 'retry soon'],
		stop: ['stopped', 'cancel'],
	},
	stopped: {},
};
