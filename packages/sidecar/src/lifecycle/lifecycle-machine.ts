import type { MachineTable } from '@spock/protocol/internal';

export type LifecycleState =
	| 'starting'
	| 'serving'
	| 'handing over'
	| 'handed over'
	| 'grace'
	| 'waiting for clients'
	| 'stopping'
	| 'stopped';
export type LifecycleEvent =
	| 'bound'
	| 'bind failed'
	| 'terminate'
	| 'replaced'
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
	| 'send clients away'
	| 'send TCP clients away'
	| 'start the linger'
	| 'close all'
	| 'destroy all'
	| 'flush'
	| 'exit 0'
	| 'exit 1';

/**
 * The life of a sidecar's process. SIGTERM reaches every container of a pod at once, and the sidecar must outlive the app's
 * last lookup: it still serves and accepts in `grace` and while it waits for its clients. The drain deadline ends the wait for a
 * client that never leaves. A client that comes by TCP may be of another pod, which does not end: it is sent to the next sidecar at that
 * address, and not before the grace is over, so that new connections lead there.
 *
 * `replaced`: another sidecar has taken its place. Clients are sent there at once; in `handing over`, clients that had connected before
 * may still arrive, in `handed over` it waits for the last one. A signal changes nothing then, because it is leaving already.
 */
export const lifecycleMachine: MachineTable<LifecycleState, LifecycleEvent, LifecycleAction> = {
	starting: {
		bound: ['serving', 'ready'],
		'bind failed': ['stopped', 'exit 1'],
		terminate: ['stopping', 'close all'],
		'second signal': ['stopped', 'exit 1'],
	},
	serving: {
		terminate: ['grace', 'not ready', 'start the minimum grace'],
		replaced: ['handing over', 'not ready', 'send clients away', 'start the linger'],
	},
	'handing over': {
		terminate: ['grace'],
		'grace over, no clients': ['stopping', 'close all'],
		'grace over, clients': ['handed over'],
		'drain deadline': ['stopping', 'close all'],
	},
	'handed over': {
		terminate: ['waiting for clients'],
		'last client left': ['stopping', 'close all'],
		'drain deadline': ['stopping', 'close all'],
	},
	grace: {
		'grace over, no clients': ['stopping', 'close all'],
		'grace over, clients': ['waiting for clients', 'send TCP clients away'],
		'drain deadline': ['stopping', 'close all'],
		'second signal': ['stopping', 'destroy all'],
	},
	'waiting for clients': {
		'last client left': ['stopping', 'close all'],
		'drain deadline': ['stopping', 'close all'],
		'second signal': ['stopping', 'destroy all'],
	},
	stopping: {
		'drain deadline': ['stopping', 'destroy all'],
		'second signal': ['stopped', 'exit 1'],
		'all closed': ['stopped', 'flush', 'exit 0'],
	},
	stopped: {},
};
