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
	| 'reset retries'
	| 'verify'
	| 'publish'
	| 'publish if different'
	| 'pace'
	| 'report'
	| 'index 0'
	| 'schedule'
	| 'schedule soon'
	| 'spread'
	| 'abort the query'
	| 'cancel the timer';

/**
 * The life of one blocking watch. `pace` arms the timer of the next query where the bucket is empty, so stopping while
 * querying cancels that timer as well as the query. `reread`: what is known may be outdated, and the query that is held would not
 * tell. `retry`: what failed may be well again.
 */
export const watchMachine: MachineTable<WatchState, WatchEvent, WatchAction> = {
	idle: {
		start: ['querying', 'query'],
		unchanged: null,
		changed: null,
		'index went back': null,
		failed: null,
		due: null,
		reread: null,
		retry: null,
		stop: ['stopped'],
	},
	querying: {
		start: null,
		unchanged: ['querying', 'reset retries', 'verify', 'pace', 'query'],
		changed: ['querying', 'reset retries', 'publish', 'pace', 'query'],
		'index went back': ['querying', 'reset retries', 'index 0', 'publish if different', 'pace', 'query'],
		failed: ['backing off', 'report', 'index 0', 'schedule'],
		due: null,
		reread: ['querying', 'abort the query', 'cancel the timer', 'index 0', 'spread', 'query'],
		retry: null,
		stop: ['stopped', 'abort the query', 'cancel the timer'],
	},
	'backing off': {
		start: null,
		unchanged: null,
		changed: null,
		'index went back': null,
		failed: null,
		due: ['querying', 'query'],
		reread: ['backing off', 'cancel the timer', 'schedule soon'],
		retry: ['backing off', 'cancel the timer', 'schedule soon'],
		stop: ['stopped', 'cancel the timer'],
	},
	stopped: {
		start: null,
		unchanged: null,
		changed: null,
		'index went back': null,
		failed: null,
		due: null,
		reread: null,
		retry: null,
		stop: null,
	},
};
