import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type ForwardEvent, type ForwardState, forwardMachine } from './forward-machine.ts';

/** Every cell that does something, written out by hand; all others must do nothing. */
const CELLS: Readonly<Record<string, string>> = {
	'asking + answered': 'sending: go on, send',
	'asking + failed': 'backing off: report, schedule',
	'asking + stop': 'stopped: keep place',
	'idle + appended': 'sending: send',
	'idle + store went back': 'asking: ask',
	'idle + look failed': 'backing off: report, schedule',
	'idle + stop': 'stopped: keep place',
	'sending + appended': 'sending: send',
	'sending + window used up': 'window full: ',
	'sending + progress': 'sending: advance, send',
	'sending + none left': 'idle: ',
	'sending + refused': 'alone: forget in flight, send alone',
	'sending + store went back': 'asking: forget in flight, ask',
	'sending + failed': 'backing off: forget in flight, report, schedule',
	'sending + stop': 'stopped: forget in flight, keep place',
	'window full + progress': 'sending: advance, send',
	'window full + refused': 'alone: forget in flight, send alone',
	'window full + store went back': 'asking: forget in flight, ask',
	'window full + failed': 'backing off: forget in flight, report, schedule',
	'window full + stop': 'stopped: forget in flight, keep place',
	'alone + progress': 'sending: advance, send',
	'alone + refused': 'parking: forget in flight, park',
	'alone + store went back': 'asking: forget in flight, ask',
	'alone + failed': 'backing off: forget in flight, report, schedule',
	'alone + stop': 'stopped: forget in flight, keep place',
	'parking + parked': 'asking: ask',
	'parking + failed': 'backing off: report, schedule',
	'parking + stop': 'stopped: keep place',
	'backing off + due': 'asking: ask',
	'backing off + stop': 'stopped: cancel timer, keep place',
};

const states = Object.keys(forwardMachine) as ForwardState[];
const events: readonly ForwardEvent[] = [
	'answered',
	'appended',
	'window used up',
	'progress',
	'none left',
	'refused',
	'parked',
	'store went back',
	'look failed',
	'failed',
	'due',
	'stop',
];

describe('the machine of a forwarder', () => {
	const pairs = states.flatMap((state) => events.map((each) => [state, each] as const));
	it.each(pairs)('%s + %s', (state, each) => {
		const { state: next, actions } = step(forwardMachine, state, each);
		expect(`${next}: ${actions.join(', ')}`).toBe(CELLS[`${state} + ${each}`] ?? `${state}: `);
	});
});
