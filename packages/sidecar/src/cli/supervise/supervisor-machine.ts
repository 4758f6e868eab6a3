import type { MachineTable } from '@spock/protocol/internal';

export type SupervisorState =
	| 'starting'
	| 'serving'
	| 'stable'
	| 'restarting'
	| 'backing off'
	| 'replaced'
	| 'ending'
	| 'ended';
export type SupervisorEvent = 'served' | 'held' | 'gone' | 'due' | 'replaced' | 'signal';
export type SupervisorAction =
	| 'activate'
	| 'report'
	| 'start the stable time'
	| 'cancel timer'
	| 'reset backoff'
	| 'prepare a standby'
	| 'schedule restart'
	| 'end the standby'
	| 'forward'
	| 'end';

/** States in which the sockets end with the worker; in all others they are for the next one. */
export const LETTING_GO: ReadonlySet<SupervisorState> = new Set(['starting', 'replaced', 'ending']);

/**
 * What a supervisor does about its worker. `served`: the worker serves. `held`: it has for a while, so that its next end is
 * no crash at once: it is replaced in the same moment, by a standby that is prepared now. `gone`: its process has ended.
 *
 * A first worker that ends before it has served has said why, and the supervisor ends with it. `replaced`: another sidecar
 * has the place, and the worker leaves by itself.
 */
export const supervisorMachine: MachineTable<SupervisorState, SupervisorEvent, SupervisorAction> = {
	starting: {
		served: ['serving', 'start the stable time'],
		held: null,
		gone: ['ended', 'end'],
		due: null,
		replaced: null,
		signal: ['ending', 'forward'],
	},
	serving: {
		served: null,
		held: ['stable', 'reset backoff', 'prepare a standby'],
		gone: ['backing off', 'cancel timer', 'report', 'schedule restart'],
		due: null,
		replaced: ['replaced', 'cancel timer', 'end the standby'],
		signal: ['ending', 'cancel timer', 'end the standby', 'forward'],
	},
	stable: {
		served: null,
		held: null,
		gone: ['restarting', 'report', 'activate'],
		due: null,
		replaced: ['replaced', 'end the standby'],
		signal: ['ending', 'end the standby', 'forward'],
	},
	restarting: {
		served: ['serving', 'start the stable time'],
		held: null,
		gone: ['backing off', 'report', 'schedule restart'],
		due: null,
		replaced: null,
		signal: ['ending', 'end the standby', 'forward'],
	},
	'backing off': {
		served: null,
		held: null,
		gone: null,
		due: ['restarting', 'activate'],
		replaced: null,
		signal: ['ended', 'cancel timer', 'end the standby', 'end'],
	},
	replaced: {
		served: null,
		held: null,
		gone: ['ended', 'end'],
		due: null,
		replaced: null,
		signal: ['ending', 'forward'],
	},
	ending: {
		served: null,
		held: null,
		gone: ['ended', 'end'],
		due: null,
		replaced: null,
		signal: ['ending', 'forward'],
	},
	ended: {
		served: null,
		held: null,
		gone: null,
		due: null,
		replaced: null,
		signal: null,
	},
};
