import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type LogMachineEvent, type LogState, logMachine } from './log-machine.ts';

/** Every cell that does something, written out by hand; all others must do nothing. */
const CELLS: Readonly<Record<string, string>> = {
	'recovering + recovered': 'receiving: open windows',
	'recovering + fenced': 'released: let go',
	'recovering + hand over': 'released: let go',
	'recovering + end': 'released: let go',
	'receiving + no room': 'blocked: close windows',
	'receiving + disk full': 'blocked: close windows, schedule',
	'receiving + write failed': 'broken: close windows, schedule',
	'receiving + fenced': 'released: close windows, let go',
	'receiving + hand over': 'handing over: close windows, finish commit',
	'receiving + end': 'draining: close windows',
	'blocked + room': 'receiving: open windows',
	'blocked + disk full': 'blocked: schedule',
	'blocked + write failed': 'broken: schedule',
	'blocked + due': 'blocked: write again',
	'blocked + fenced': 'released: cancel timer, let go',
	'blocked + hand over': 'handing over: cancel timer, finish commit',
	'blocked + end': 'draining: cancel timer, write again',
	'broken + disk full': 'blocked: schedule',
	'broken + write failed': 'broken: schedule',
	'broken + due': 'broken: write again',
	'broken + written': 'receiving: open windows',
	'broken + fenced': 'released: cancel timer, let go',
	'broken + hand over': 'released: cancel timer, report the rest, let go',
	'broken + end': 'draining: cancel timer, write again',
	'handing over + disk full': 'released: report the rest, let go',
	'handing over + write failed': 'released: report the rest, let go',
	'handing over + fenced': 'released: let go',
	'handing over + sealed': 'released: let go',
	'handing over + all stored, or drain deadline': 'released: report the rest, let go',
	'draining + disk full': 'draining: schedule',
	'draining + write failed': 'draining: schedule',
	'draining + due': 'draining: write again',
	'draining + fenced': 'released: cancel timer, let go',
	'draining + hand over': 'handing over: cancel timer, finish commit',
	'draining + all stored, or drain deadline': 'released: cancel timer, report the rest, seal, let go',
};

const states = Object.keys(logMachine) as LogState[];
const events: readonly LogMachineEvent[] = [
	'recovered',
	'no room',
	'room',
	'disk full',
	'write failed',
	'due',
	'written',
	'fenced',
	'hand over',
	'sealed',
	'end',
	'all stored, or drain deadline',
];

describe('the machine of the log', () => {
	const pairs = states.flatMap((state) => events.map((each) => [state, each] as const));
	it.each(pairs)('%s + %s', (state, each) => {
		const { state: next, actions } = step(logMachine, state, each);
		expect(`${next}: ${actions.join(', ')}`).toBe(CELLS[`${state} + ${each}`] ?? `${state}: `);
	});
});
