import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type GroupEventInput, type GroupEventState, groupEventMachine } from './group-event-machine.ts';

/** Every cell that does something, written out by hand; all others must do nothing. */
const CELLS: Readonly<Record<string, string>> = {
	'waiting + credit': 'out: deliver, start ack wait',
	'waiting + acked': 'done: leave line, release key, keep done',
	'waiting + buried': 'dead: leave line, store dead letter',
	'out + acked': 'done: cancel timer, give credit back, release key, keep done',
	'out + nacked': 'backing off: cancel timer, give credit back, schedule',
	'out + ack wait over': 'backing off: give credit back, schedule',
	'out + extended': 'out: cancel timer, start ack wait',
	'out + consumer lost': 'waiting: cancel timer, give credit back, line up',
	'out + buried': 'dead: cancel timer, give credit back, store dead letter',
	'backing off + acked': 'done: cancel timer, release key, keep done',
	'backing off + due': 'waiting: line up',
	'backing off + buried': 'dead: cancel timer, store dead letter',
	'dead + dead letter stored': 'done: release key, keep done',
};

const states = Object.keys(groupEventMachine) as GroupEventState[];
const inputs: readonly GroupEventInput[] = [
	'credit',
	'acked',
	'nacked',
	'ack wait over',
	'extended',
	'consumer lost',
	'due',
	'buried',
	'dead letter stored',
];

describe('the machine of one event in a group', () => {
	const pairs = states.flatMap((state) => inputs.map((input) => [state, input] as const));
	it.each(pairs)('%s + %s', (from, input) => {
		const { state, actions } = step(groupEventMachine, from, input);
		expect(`${state}: ${actions.join(', ')}`).toBe(CELLS[`${from} + ${input}`] ?? `${from}: `);
	});
});
