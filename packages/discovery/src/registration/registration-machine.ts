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
	| "another app's"
	| 'removed'
	| 'given up';
export type RegistrationAction =
	| 'start grace'
	| 'stop timer'
	| 'write'
	| 'write now'
	| 'start giving up'
	| 'notify'
	| 'forget';

/**
 * Whether a registration is wanted. `held`: by an app (or by the sidecar, for an instance bound to it); the app's report is written to
 * the registry. `grace`: the app's last connection was lost; the instance is written as critical, and waits for the app. `adopted`:
 * found at the registry by a restarted sidecar; nothing is written until the app has come back or the grace is over, so that an app
 * that only lost its sidecar never looks critical. `leaving`: the instance is being deregistered, until the registry confirms it.
 *
 * `refused`: the registry refused the first write for good. `given up`: the registry was unreachable for so long that it must have
 * deregistered the instance by itself. `another app's`: the registry knows it of another app, as is found after a restart.
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
		withdrawn: ['leaving', 'start giving up', 'write now', 'notify'],
		refused: ['gone', 'notify', 'forget'],
		"another app's": ['gone', 'notify', 'forget'],
	},
	grace: {
		claimed: ['held', 'stop timer', 'write now'],
		'grace over': ['leaving', 'start giving up', 'write now'],
		withdrawn: ['leaving', 'stop timer', 'start giving up', 'write now'],
		refused: ['gone', 'stop timer', 'forget'],
		"another app's": ['gone', 'stop timer', 'forget'],
	},
	adopted: {
		claimed: ['held', 'stop timer', 'write now'],
		'grace over': ['leaving', 'start giving up', 'write now'],
		withdrawn: ['leaving', 'stop timer', 'start giving up', 'write now'],
		"another app's": ['gone', 'stop timer', 'forget'],
	},
	leaving: {
		claimed: ['held', 'stop timer', 'write now'],
		withdrawn: ['leaving', 'write now'],
		removed: ['gone', 'stop timer', 'forget'],
		"another app's": ['gone', 'stop timer', 'forget'],
		'given up': ['gone', 'forget'],
	},
	gone: {},
};
