import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';
import type { ConnectionEvent, ConnectionState } from '../foundation/status.ts';
import { connectionMachine } from './connection-machine.ts';

const states = Object.keys(connectionMachine) as ConnectionState[];
const events = Object.keys(connectionMachine.idle) as ConnectionEvent[];

/** Every cell that does something, written out a second time: a change of the table must be meant. */
const CELLS: Readonly<Record<string, string>> = {
	'idle start': 'connecting: dial',
	'idle drain': 'closed: settle',
	'idle close': 'closed: settle',
	'connecting connected': 'ready: adopt, resubscribe, flush waiting',
	'connecting refused': 'closed: cancel dial, reject waiting, reject in flight, destroy socket, settle',
	'connecting lost': 'backoff: schedule retry',
	'connecting drain': 'closed: cancel dial, reject waiting, reject in flight, destroy socket, settle',
	'connecting close': 'closed: cancel dial, reject waiting, reject in flight, destroy socket, settle',
	'ready connected': 'ready: retire the first, adopt, resubscribe',
	'ready lost':
		'backoff: cancel dial, cancel timer, reject in flight, mark snapshots stale, reset backoff if stable, schedule retry',
	'ready goaway': 'ready: reset backoff if stable, dial or schedule',
	'ready successor lost': 'ready: schedule retry',
	'ready retry due': 'ready: dial',
	'ready drain': 'draining: cancel dial, cancel timer, refuse new',
	'ready close': 'closed: cancel dial, cancel timer, reject in flight, destroy socket, settle',
	'backoff retry due': 'connecting: dial',
	'backoff drain': 'closed: cancel timer, reject waiting, reject in flight, destroy socket, settle',
	'backoff close': 'closed: cancel timer, reject waiting, reject in flight, destroy socket, settle',
	'draining lost': 'closed: reject in flight, destroy socket, settle',
	'draining emptied': 'closed: end socket, settle',
	'draining close': 'closed: reject in flight, destroy socket, settle',
	'closed connected': 'closed: cancel dial',
	'closed drain': 'closed: settle',
	'closed close': 'closed: destroy socket, settle',
};

describe('the connection machine', () => {
	for (const state of states) {
		for (const event of events) {
			const cell = CELLS[`${state} ${event}`];
			it(`${state}, ${event}: ${cell ?? 'nothing happens'}`, () => {
				const { state: next, actions } = step(connectionMachine, state, event);
				expect(actions.length === 0 ? next : `${next}: ${actions.join(', ')}`).toBe(cell ?? state);
			});
		}
	}

	it('has no cell besides those', () => {
		expect(Object.keys(CELLS).every((name) => states.some((state) => name.startsWith(`${state} `)))).toBe(true);
		expect(states.length * events.length).toBe(60);
	});

	it('can always be closed, and never leaves `closed`', () => {
		for (const state of states) expect(step(connectionMachine, state, 'close').state).toBe('closed');
		for (const event of events) expect(step(connectionMachine, 'closed', event).state).toBe('closed');
	});
});
