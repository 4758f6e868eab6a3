import type { MachineTable } from '@spock/protocol/internal';

import type { RegistrationPhase } from '../foundation/discovery-event.ts';

export type RegistrationEvent =
	| 'claimed'
	| 'found'
	| 'found, kept by the sidecar'
	| 'abandoned'
	| 'grace over'
	| 'withdrawn'
	| 'refused'
	| 'removed'
	| 'given up';
export type RegistrationAction =
	| 'start grace'
	| 'stop timer'
	| 'write'
	| 'write now'
	| 'start giving up'
	| 'tell'
	| 'forget';

/**
 * Who wants a registration. `held`: an app does (or the sidecar, for what is bound to that), and the registry is told what
 * the app reported. `grace`: the app's last connection was lost, the registry is told that the instance is critical, and it
 * waits for the app. `adopted`: found at the registry by a sidecar that was restarted; nothing is written until the app has
 * come back or the grace is over, so that an app which merely lost its sidecar is never seen as ill. `leaving`: the registry
 * is told that it is gone, until it has heard.
 *
 * `refused` is a first write that waiting cannot mend. `given up`: the registry was out of reach for so long that it must
 * have taken the instance out by itself.
 */
export const registrationMachine: MachineTable<RegistrationPhase, RegistrationEvent, RegistrationAction> = {
	new: {
		claimed: ['held', 'write now'],
		found: ['adopted', 'start grace'],
		'found, kept by the sidecar': ['held', 'write'],
	},
	held: {
		claimed: ['held', 'write now'],
		abandoned: ['grace', 'start grace', 'write now'],
		withdrawn: ['leaving', 'start giving up', 'write now', 'tell'],
		refused: ['gone', 'tell', 'forget'],
	},
	grace: {
		claimed: ['held', 'stop timer', 'write now'],
		'grace over': ['leaving', 'start giving up', 'write now'],
		withdrawn: ['leaving', 'stop timer', 'start giving up', 'write now'],
		refused: ['gone', 'stop timer', 'forget'],
	},
	adopted: {
		claimed: ['held', 'stop timer', 'write now'],
		'grace over': ['leaving', 'start giving up', 'write now'],
		withdrawn: ['leaving', 'stop timer', 'start giving up', 'write now'],
	},
	leaving: {
		claimed: ['held', 'stop timer', 'write now'],
		withdrawn: ['leaving', 'write now'],
		removed: ['gone', 'stop timer', 'forget'],
		'given up': ['gone', 'forget'],
	},
	gone: {},
};
