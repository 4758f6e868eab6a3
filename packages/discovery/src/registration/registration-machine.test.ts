import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import type { RegistrationPhase } from '../foundation/discovery-event.ts';
import { type RegistrationEvent, registrationMachine } from './registration-machine.ts';

/** Every cell that does something, written out by hand; all others must do nothing. */
const CELLS: Readonly<Record<string, string>> = {
	'new + claimed': 'held: write now',
	'new + found': 'adopted: start grace',
	'new + found, kept by the sidecar': 'held: write',
	'held + claimed': 'held: write now',
	'held + abandoned': 'grace: start grace, write now',
	'held + withdrawn': 'leaving: start giving up, write now, notify',
	'held + refused': 'gone: notify, forget',
	"held + another app's": 'gone: notify, forget',
	"grace + another app's": 'gone: stop timer, forget',
	"adopted + another app's": 'gone: stop timer, forget',
	"leaving + another app's": 'gone: stop timer, forget',
	'grace + claimed': 'held: stop timer, write now',
	'grace + grace over': 'leaving: start giving up, write now',
	'grace + withdrawn': 'leaving: stop timer, start giving up, write now',
	'grace + refused': 'gone: stop timer, forget',
	'adopted + claimed': 'held: stop timer, write now',
	'adopted + grace over': 'leaving: start giving up, write now',
	'adopted + withdrawn': 'leaving: stop timer, start giving up, write now',
	'leaving + claimed': 'held: stop timer, write now',
	'leaving + withdrawn': 'leaving: write now',
	'leaving + removed': 'gone: stop timer, forget',
	'leaving + given up': 'gone: forget',
};

const phases = Object.keys(registrationMachine) as RegistrationPhase[];
const events: readonly RegistrationEvent[] = [
	'claimed',
	'found',
	'found, kept by the sidecar',
	'abandoned',
	'grace over',
	'withdrawn',
	'refused',
	"another app's",
	'removed',
	'given up',
];

describe('the registration machine', () => {
	const pairs = phases.flatMap((phase) => events.map((event) => [phase, event] as const));
	it.each(pairs)('%s + %s', (phase, event) => {
		const { state, actions } = step(registrationMachine, phase, event);
		expect(`${state}: ${actions.join(', ')}`).toBe(CELLS[`${phase} + ${event}`] ?? `${phase}: `);
	});
});
