import type { MachineTable } from '@spock/protocol/internal';

export type RereadState =
	| 'lost'
	| 'queued'
	| 'reading'
	| 'reading in doubt'
	| 'reading what has changed'
	| 'current'
	| 'doubtful'
	| 'waiting'
	| 'stopped';
export type RereadEvent =
	| 'concerned'
	| 'doubted'
	| 'unwatched'
	| 'verified'
	| 'slot'
	| 'turn'
	| 'turn to confirm'
	| 'read'
	| 'read too early'
	| 'read in doubt'
	| 'failed'
	| 'due'
	| 'watch lost'
	| 'watch back'
	| 'stop';
export type RereadAction =
	| 'enqueue'
	| 'enqueue to look'
	| 'enqueue to confirm'
	| 'stay in doubt'
	| 'doubt'
	| 'await confirmation'
	| 'query'
	| 'publish'
	| 'verify'
	| 'report'
	| 'schedule a retry'
	| 'schedule another look'
	| 'abort the query'
	| 'cancel the timer';

/**
 * The life of one question under a shared watch. `concerned`: the shared watch has seen a change of it. `doubted`: it may have
 * changed, and nothing says so exactly; it is looked at when it has its `turn`, and once more, when a server that lags has heard
 * of everything, at its `turn to confirm`. `unwatched`: what no watch tells may have changed. `read too early`: the server that
 * answered had not heard of the change yet. `read in doubt`: it may have been such a server.
 */
export const rereadMachine: MachineTable<RereadState, RereadEvent, RereadAction> = {
	lost: {
		concerned: null,
		doubted: null,
		unwatched: null,
		verified: null,
		slot: null,
		turn: null,
		'turn to confirm': null,
		read: null,
		'read too early': null,
		'read in doubt': null,
		failed: null,
		due: null,
		'watch lost': ['lost', 'report'],
		'watch back': ['queued', 'enqueue'],
		stop: ['stopped'],
	},
	queued: {
		concerned: null,
		doubted: ['queued', 'stay in doubt'],
		unwatched: null,
		verified: null,
		slot: ['reading', 'query'],
		turn: null,
		'turn to confirm': null,
		read: null,
		'read too early': null,
		'read in doubt': null,
		failed: null,
		due: null,
		'watch lost': ['lost', 'report'],
		'watch back': null,
		stop: ['stopped'],
	},
	reading: {
		concerned: ['reading what has changed'],
		doubted: ['reading in doubt'],
		unwatched: null,
		verified: null,
		slot: null,
		turn: null,
		'turn to confirm': null,
		read: ['current', 'publish'],
		'read too early': ['waiting', 'publish', 'schedule another look'],
		'read in doubt': ['doubtful', 'publish', 'await confirmation'],
		failed: ['waiting', 'report', 'schedule a retry'],
		due: null,
		'watch lost': ['lost', 'abort the query', 'report'],
		'watch back': ['reading in doubt'],
		stop: ['stopped', 'abort the query'],
	},
	'reading in doubt': {
		concerned: ['reading what has changed'],
		doubted: null,
		unwatched: null,
		verified: null,
		slot: null,
		turn: null,
		'turn to confirm': null,
		read: ['doubtful', 'publish', 'doubt'],
		'read too early': ['waiting', 'publish', 'schedule another look'],
		'read in doubt': ['doubtful', 'publish', 'doubt'],
		failed: ['waiting', 'report', 'schedule a retry'],
		due: null,
		'watch lost': ['lost', 'abort the query', 'report'],
		'watch back': null,
		stop: ['stopped', 'abort the query'],
	},
	'reading what has changed': {
		concerned: null,
		doubted: null,
		unwatched: null,
		verified: null,
		slot: null,
		turn: null,
		'turn to confirm': null,
		read: ['queued', 'publish', 'enqueue'],
		'read too early': ['queued', 'publish', 'enqueue'],
		'read in doubt': ['queued', 'publish', 'enqueue'],
		failed: ['waiting', 'report', 'schedule a retry'],
		due: null,
		'watch lost': ['lost', 'abort the query', 'report'],
		'watch back': null,
		stop: ['stopped', 'abort the query'],
	},
	current: {
		concerned: ['queued', 'enqueue'],
		doubted: ['doubtful', 'doubt'],
		unwatched: ['doubtful', 'await confirmation'],
		verified: ['current', 'verify'],
		slot: null,
		turn: null,
		'turn to confirm': null,
		read: null,
		'read too early': null,
		'read in doubt': null,
		failed: null,
		due: null,
		'watch lost': ['lost', 'report'],
		'watch back': ['doubtful', 'doubt'],
		stop: ['stopped'],
	},
	doubtful: {
		concerned: ['queued', 'enqueue'],
		doubted: ['doubtful', 'doubt'],
		unwatched: ['doubtful', 'await confirmation'],
		verified: null,
		slot: null,
		turn: ['queued', 'enqueue to look'],
		'turn to confirm': ['queued', 'enqueue to confirm'],
		read: null,
		'read too early': null,
		'read in doubt': null,
		failed: null,
		due: null,
		'watch lost': ['lost', 'report'],
		'watch back': null,
		stop: ['stopped'],
	},
	waiting: {
		concerned: null,
		doubted: null,
		unwatched: null,
		verified: null,
		slot: null,
		turn: null,
		'turn to confirm': null,
		read: null,
		'read too early': null,
		'read in doubt': null,
		failed: null,
		due: ['queued', 'enqueue'],
		'watch lost': ['lost', 'cancel the timer', 'report'],
		'watch back': ['queued', 'cancel the timer', 'enqueue'],
		stop: ['stopped', 'cancel the timer'],
	},
	stopped: {
		concerned: null,
		doubted: null,
		unwatched: null,
		verified: null,
		slot: null,
		turn: null,
		'turn to confirm': null,
		read: null,
		'read too early': null,
		'read in doubt': null,
		failed: null,
		due: null,
		'watch lost': null,
		'watch back': null,
		stop: null,
	},
};
