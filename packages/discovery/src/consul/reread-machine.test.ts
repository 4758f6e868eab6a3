import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type RereadEvent, type RereadState, rereadMachine } from './reread-machine.ts';

type Row = Partial<Record<RereadEvent, string>>;

// Written out by hand: a cell that is changed by accident is seen here. What is not named does nothing.
const rows: Readonly<Record<RereadState, Row>> = {
	lost: { 'watch lost': 'lost: report', 'watch back': 'queued: enqueue', stop: 'stopped: ' },
	queued: {
		doubted: 'queued: stay in doubt',
		slot: 'reading: query',
		'watch lost': 'lost: report',
		stop: 'stopped: ',
	},
	reading: {
		concerned: 'reading what has changed: ',
		doubted: 'reading in doubt: ',
		read: 'current: publish',
		'read too early': 'waiting: publish, schedule another look',
		'read in doubt': 'doubtful: publish, await confirmation',
		failed: 'waiting: report, schedule a retry',
		'watch lost': 'lost: abort the query, report',
		'watch back': 'reading in doubt: ',
		stop: 'stopped: abort the query',
	},
	'reading in doubt': {
		concerned: 'reading what has changed: ',
		read: 'doubtful: publish, doubt',
		'read too early': 'waiting: publish, schedule another look',
		'read in doubt': 'doubtful: publish, doubt',
		failed: 'waiting: report, schedule a retry',
		'watch lost': 'lost: abort the query, report',
		stop: 'stopped: abort the query',
	},
	'reading what has changed': {
		read: 'queued: publish, enqueue',
		'read too early': 'queued: publish, enqueue',
		'read in doubt': 'queued: publish, enqueue',
		failed: 'waiting: report, schedule a retry',
		'watch lost': 'lost: abort the query, report',
		stop: 'stopped: abort the query',
	},
	current: {
		concerned: 'queued: enqueue',
		doubted: 'doubtful: doubt',
		unwatched: 'doubtful: await confirmation',
		verified: 'current: verify',
		'watch lost': 'lost: report',
		'watch back': 'doubtful: doubt',
		stop: 'stopped: ',
	},
	doubtful: {
		concerned: 'queued: enqueue',
		doubted: 'doubtful: doubt',
		unwatched: 'doubtful: await confirmation',
		turn: 'queued: enqueue to look',
		'turn to confirm': 'queued: enqueue to confirm',
		'watch lost': 'lost: report',
		stop: 'stopped: ',
	},
	waiting: {
		due: 'queued: enqueue',
		'watch lost': 'lost: cancel the timer, report',
		'watch back': 'queued: cancel the timer, enqueue',
		stop: 'stopped: cancel the timer',
	},
	stopped: {},
};

const pairs = Object.entries(rereadMachine).flatMap(([state, cells]) =>
	Object.keys(cells).map((event) => ({
		state: state as RereadState,
		event: event as RereadEvent,
		outcome: rows[state as RereadState][event as RereadEvent],
	})),
);

describe('the re-read machine', () => {
	it.each(pairs)('$event while $state: $outcome', ({ state, event, outcome }) => {
		const { state: next, actions } = step(rereadMachine, state, event);
		if (outcome === undefined) expect({ next, actions }).toEqual({ next: state, actions: [] });
		else expect(`${next}: ${actions.join(', ')}`).toBe(outcome);
	});
});
