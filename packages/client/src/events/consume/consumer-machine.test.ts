import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type ConsumerEvent, type ConsumerState, consumerMachine } from './consumer-machine.ts';

const states = Object.keys(consumerMachine) as ConsumerState[];
const events = [...new Set(Object.values(consumerMachine).flatMap((row) => Object.keys(row)))] as ConsumerEvent[];

/** Every cell that does something, written out a second time: a change of the table must be meant. */
const CELLS: Readonly<Record<string, string>> = {
	'away, adopted': 'opening: open',
	'away, refused for good': 'ended: fail, end',
	'away, drain, some out': 'ended: end',
	'away, drain, none out': 'ended: end',
	'away, leave': 'ended: end',
	'away, close': 'ended: end',
	'opening, adopted': 'opening: open',
	'opening, lost': 'away',
	'opening, opened': 'open: serve',
	'opening, refused': 'refused: schedule retry',
	'opening, refused for good': 'ended: fail, end',
	'opening, drain, some out': 'abandoning',
	'opening, drain, none out': 'abandoning',
	'opening, leave': 'abandoning',
	'opening, close': 'ended: end',
	'open, adopted': 'opening: void deliveries, open',
	'open, lost': 'away: void deliveries',
	'open, refused': 'refused: void deliveries, schedule retry',
	'open, refused for good': 'ended: void deliveries, fail, end',
	'open, drain, some out': 'leaving: drop waiting',
	'open, drain, none out': 'closing: ask to close, void deliveries',
	'open, leave': 'closing: ask to close, void deliveries',
	'open, close': 'ended: void deliveries, end',
	'refused, adopted': 'opening: cancel timer, open',
	'refused, lost': 'away: cancel timer',
	'refused, refused for good': 'ended: cancel timer, fail, end',
	'refused, retry due': 'opening: open',
	'refused, drain, some out': 'ended: cancel timer, end',
	'refused, drain, none out': 'ended: cancel timer, end',
	'refused, leave': 'ended: cancel timer, end',
	'refused, close': 'ended: cancel timer, end',
	'leaving, adopted': 'ended: void deliveries, end',
	'leaving, lost': 'ended: void deliveries, end',
	'leaving, refused': 'ended: void deliveries, end',
	'leaving, refused for good': 'ended: void deliveries, end',
	'leaving, last one settled': 'closing: ask to close',
	'leaving, leave': 'closing: ask to close, void deliveries',
	'leaving, close': 'ended: void deliveries, end',
	'abandoning, adopted': 'ended: end',
	'abandoning, lost': 'ended: end',
	'abandoning, opened': 'closing: ask to close',
	'abandoning, refused': 'ended: end',
	'abandoning, refused for good': 'ended: end',
	'abandoning, close': 'ended: end',
	'closing, adopted': 'ended: end',
	'closing, lost': 'ended: end',
	'closing, refused': 'ended: end',
	'closing, refused for good': 'ended: end',
	'closing, gone': 'ended: end',
	'closing, close': 'ended: end',
};

describe('the consumer machine', () => {
	for (const state of states) {
		for (const event of events) {
			const cell = CELLS[`${state}, ${event}`];
			it(`${state}, ${event}: ${cell ?? 'nothing happens'}`, () => {
				const { state: next, actions } = step(consumerMachine, state, event);
				expect(actions.length === 0 ? next : `${next}: ${actions.join(', ')}`).toBe(cell ?? state);
			});
		}
	}

	it('has no cell besides those', () => {
		expect(Object.keys(CELLS).every((name) => states.some((state) => name.startsWith(`${state}, `)))).toBe(true);
		expect(states.length * events.length).toBe(96);
	});

	it('can always be closed, and never leaves `ended`', () => {
		for (const state of states) expect(step(consumerMachine, state, 'close').state).toBe('ended');
		for (const event of events) expect(step(consumerMachine, 'ended', event).state).toBe('ended');
	});
});
