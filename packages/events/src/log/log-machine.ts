import type { MachineTable } from '@spock/protocol/internal';

export type LogState = 'recovering' | 'receiving' | 'blocked' | 'broken' | 'handing over' | 'draining' | 'released';
export type LogMachineEvent =
	| 'recovered'
	| 'no room'
	| 'room'
	| 'disk full'
	| 'write failed'
	| 'due'
	| 'written'
	| 'fenced'
	| 'hand over'
	| 'sealed'
	| 'end'
	| 'all stored, or drain deadline';
export type LogAction =
	| 'open windows'
	| 'close windows'
	| 'schedule'
	| 'cancel timer'
	| 'write again'
	| 'finish commit'
	| 'seal'
	| 'report the rest'
	| 'let go';

/**
 * The life of the log. `blocked`: it is as large as it may be, or the disk is full; what was taken is still written. `broken`: a write or
 * a sync failed; that file is left as it is, and what was not acknowledged goes into a new segment when `due`. `no room` and `room` come
 * from the limits, `disk full` from a write. `fenced`: another process has claimed the directory, and nothing is acknowledged any more.
 */
export const logMachine: MachineTable<LogState, LogMachineEvent, LogAction> = {
	recovering: {
		recovered: ['receiving', 'open windows'],
		fenced: ['released', 'let go'],
		'hand over': ['released', 'let go'],
		end: ['released', 'let go'],
	},
	receiving: {
		'no room': ['blocked', 'close windows'],
		'disk full': ['blocked', 'close windows', 'schedule'],
		'write failed': ['broken', 'close windows', 'schedule'],
		fenced: ['released', 'close windows', 'let go'],
		'hand over': ['handing over', 'close windows', 'finish commit'],
		end: ['draining', 'close windows'],
	},
	blocked: {
		room: ['receiving', 'open windows'],
		'disk full': ['blocked', 'schedule'],
		'write failed': ['broken', 'schedule'],
		due: ['blocked', 'write again'],
		fenced: ['released', 'cancel timer', 'let go'],
		'hand over': ['handing over', 'cancel timer', 'finish commit'],
		end: ['draining', 'cancel timer', 'write again'],
	},
	broken: {
		'disk full': ['blocked', 'schedule'],
		'write failed': ['broken', 'schedule'],
		due: ['broken', 'write again'],
		written: ['receiving', 'open windows'],
		fenced: ['released', 'cancel timer', 'let go'],
		'hand over': ['released', 'cancel timer', 'report the rest', 'let go'],
		end: ['draining', 'cancel timer', 'write again'],
	},
	'handing over': {
		'disk full': ['released', 'report the rest', 'let go'],
		'write failed': ['released', 'report the rest', 'let go'],
		fenced: ['released', 'let go'],
		sealed: ['released', 'let go'],
		// A write that hangs must not keep the process.
		'all stored, or drain deadline': ['released', 'report the rest', 'let go'],
	},
	draining: {
		'disk full': ['draining', 'schedule'],
		'write failed': ['draining', 'schedule'],
		due: ['draining', 'write again'],
		fenced: ['released', 'cancel timer', 'let go'],
		'hand over': ['handing over', 'cancel timer', 'finish commit'],
		'all stored, or drain deadline': ['released', 'cancel timer', 'report the rest', 'seal', 'let go'],
	},
	released: {},
};
