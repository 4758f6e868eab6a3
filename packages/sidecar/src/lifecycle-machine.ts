import type { MachineTable } from '@spock/protocol/internal';

export type LifecycleState = 'starting' | 'serving' | 'grace' | 'waiting for clients' | 'stopping' | 'stopped';
export type LifecycleEvent =
	| 'bound'
	| 'bind failed'
	| 'terminate'
	| 'grace over, no clients'
	| 'grace over, clients'
	| 'last client left'
	| 'drain deadline'
	| 'second signal'
	| 'all closed';
export type LifecycleAction =
	| 'ready'
	| 'not ready'
	| 'start the minimum grace'
	| 'close all'
	| 'destroy all'
	| 'flush'
	| 'exit 0'
	| 'exit 1';

/**
 * The life of a sidecar's process. SIGTERM reaches every container of a pod at once, and the sidecar must outlive the app's
 * last lookup: so it goes on serving, and accepting, in `grace` and while it waits for its clients. The drain deadline
 * ends the wait for a client that never leaves.
 */
export const lifecycleMachine: MachineTable<LifecycleState, LifecycleEvent, LifecycleAction> = {
	starting: {
		bound: ['serving', 'ready'],
		'bind failed': ['stopped', 'exit 1'],
		terminate: ['stopping', 'close all'],
		'grace over, no clients': null,
		'grace over, clients': null,
		'last client left': null,
		'drain deadline': null,
		'second signal': ['stopped', 'exit 1'],
		'all closed': null,
	},
	serving: {
		bound: null,
		'bind failed': null,
		terminate: ['grace', 'not ready', 'start the minimum grace'],
		'grace over, no clients': null,
		'grace over, clients': null,
		'last client left': null,
		'drain deadline': null,
		'second signal': null,
		'all closed': null,
	},
	grace: {
		bound: null,
		'bind failed': null,
		terminate: null,
		'grace over, no clients': ['stopping', 'close all'],
		'grace over, clients': ['waiting for clients'],
		'last client left': null,
		'drain deadline': ['stopping', 'close all'],
		'second signal': ['stopping', 'destroy all'],
		'all closed': null,
	},
	'waiting for clients': {
		bound: null,
		'bind failed': null,
		terminate: null,
		'grace over, no clients': null,
		'grace over, clients': null,
		'last client left': ['stopping', 'close all'],
		'drain deadline': ['stopping', 'close all'],
		'second signal': ['stopping', 'destroy all'],
		'all closed': null,
	},
	stopping: {
		bound: null,
		'bind failed': null,
		terminate: null,
		'grace over, no clients': null,
		'grace over, clients': null,
		'last client left': null,
		'drain deadline': ['stopping', 'destroy all'],
		'second signal': ['stopped', 'exit 1'],
		'all closed': ['stopped', 'flush', 'exit 0'],
	},
	stopped: {
		bound: null,
		'bind failed': null,
		terminate: null,
		'grace over, no clients': null,
		'grace over, clients': null,
		'last client left': null,
		'drain deadline': null,
		'second signal': null,
		'all closed': null,
	},
};
