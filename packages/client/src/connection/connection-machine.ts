import type { MachineTable } from '@spock/protocol/internal';

import type { ConnectionEvent, ConnectionState } from '../foundation/status.ts';

export type ConnectionAction =
	| 'dial'
	| 'adopt'
	| 'retire the first'
	| 'resubscribe'
	| 'flush waiting'
	| 'reset backoff if stable'
	| 'reject in flight'
	| 'mark snapshots stale'
	| 'schedule retry'
	| 'dial or schedule'
	| 'cancel dial'
	| 'cancel timer'
	| 'refuse new'
	| 'reject waiting'
	| 'end socket'
	| 'destroy socket'
	| 'settle';

/**
 * The life of a client's connection. `dial` opens a socket and says hello on it; `connected` is the answer to hello, from
 * a full sidecar or a baseline one. Readiness is therefore never a socket file alone, nor a process that merely accepts.
 *
 * In `ready` a second socket, the successor, may be dialled after a goaway: `connected`, `successor lost` and `retry due`
 * are its events there, while the first socket goes on serving. `refused` is a first sidecar that shares no protocol
 * version with this client: waiting cannot fix it. (After an upgrade the same answer is `lost`, because a roll-back can.)
 */
export const connectionMachine: MachineTable<ConnectionState, ConnectionEvent, ConnectionAction> = {
	idle: {
		start: ['connecting', 'dial'],
		connected: null,
		refused: null,
		lost: null,
		goaway: null,
		'successor lost': null,
		'retry due': null,
		drain: ['closed', 'settle'],
		emptied: null,
		close: ['closed', 'settle'],
	},
	connecting: {
		start: null,
		connected: ['ready', 'adopt', 'resubscribe', 'flush waiting'],
		refused: ['closed', 'cancel dial', 'reject waiting', 'reject in flight', 'destroy socket', 'settle'],
		lost: ['backoff', 'schedule retry'],
		goaway: null,
		'successor lost': null,
		'retry due': null,
		drain: ['closed', 'cancel dial', 'reject waiting', 'reject in flight', 'destroy socket', 'settle'],
		emptied: null,
		close: ['closed', 'cancel dial', 'reject waiting', 'reject in flight', 'destroy socket', 'settle'],
	},
	ready: {
		start: null,
		connected: ['ready', 'retire the first', 'adopt', 'resubscribe'],
		refused: null,
		lost: [
			'backoff',
			'cancel dial',
			'cancel timer',
			'reject in flight',
			'mark snapshots stale',
			'reset backoff if stable',
			'schedule retry',
		],
		goaway: ['ready', 'reset backoff if stable', 'dial or schedule'],
		'successor lost': ['ready', 'schedule retry'],
		'retry due': ['ready', 'dial'],
		drain: ['draining', 'cancel dial', 'cancel timer', 'refuse new'],
		emptied: null,
		close: ['closed', 'cancel dial', 'cancel timer', 'reject in flight', 'destroy socket', 'settle'],
	},
	backoff: {
		start: null,
		connected: null,
		refused: null,
		lost: null,
		goaway: null,
		'successor lost': null,
		'retry due': ['connecting', 'dial'],
		drain: ['closed', 'cancel timer', 'reject waiting', 'reject in flight', 'destroy socket', 'settle'],
		emptied: null,
		close: ['closed', 'cancel timer', 'reject waiting', 'reject in flight', 'destroy socket', 'settle'],
	},
	draining: {
		start: null,
		connected: null,
		refused: null,
		lost: ['closed', 'reject in flight', 'destroy socket', 'settle'],
		goaway: null,
		'successor lost': null,
		'retry due': null,
		drain: null,
		emptied: ['closed', 'end socket', 'settle'],
		close: ['closed', 'reject in flight', 'destroy socket', 'settle'],
	},
	closed: {
		start: null,
		connected: ['closed', 'cancel dial'],
		refused: null,
		lost: null,
		goaway: null,
		'successor lost': null,
		'retry due': null,
		drain: ['closed', 'settle'],
		emptied: null,
		close: ['closed', 'destroy socket', 'settle'],
	},
};
