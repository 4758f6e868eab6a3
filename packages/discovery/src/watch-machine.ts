import type { MachineTable } from '@spock/protocol/internal';

export type WatchState = 'idle' | 'querying' | 'backing off' | 'stopped';
export type WatchEvent = 'start' | 'unchanged' | 'changed' | 'index went back' | 'failed' | 'due' | 'stop';
export type WatchAction =
	| 'query'
	| 'reset retries'
	| 'verify'
	| 'publish'
	| 'publish if different'
	| 'pace'
	| 'report'
	| 'index 0'
	| 'schedule'
	| 'abort the query'
	| 'cancel the timer';

/**
 * The life of one blocking watch. `pace` arms the timer of the next query where the bucket is empty, so stopping while
 * querying cancels that timer as well as the query.
 */
export const watchMachine: MachineTable<WatchState, WatchEvent, WatchAction> = {
	idle: {
		start: ['querying', 'query'],
		unchanged: null,
		changed: null,
		'index went back': null,
		failed: null,
		due: null,
		stop: ['stopped'],
	},
	querying: {
		start: null,
		unchanged: ['querying', 'reset retries', 'verify', 'pace', 'query'],
		changed: ['querying', 'reset retries', 'publish', 'pace', 'query'],
		'index went back': ['querying', 'reset retries', 'index 0', 'publish if different', 'pace', 'query'],
		failed: ['backing off', 'report', 'index 0', 'schedule'],
		due: null,
		stop: ['stopped', 'abort the query', 'cancel the timer'],
	},
	'backing off': {
		start: null,
		unchanged: null,
		changed: null,
		'index went back': null,
		failed: null,
		due: ['querying', 'query'],
		stop: ['stopped', 'cancel the timer'],
	},
	stopped: {
		start: null,
		unchanged: null,
		changed: null,
		'index went back': null,
		failed: null,
		due: null,
		stop: null,
	},
};
