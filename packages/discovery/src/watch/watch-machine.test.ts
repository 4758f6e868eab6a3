import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type WatchEvent, type WatchState, watchMachine } from './watch-machine.ts';

const NOTHING = 'nothing';
type Cells = Readonly<Record<WatchEvent, Readonly<Record<WatchState, string>>>>;

// Written out by hand: a cell that is changed by accident is seen here.
const cells: Cells = {
	start: { idle: 'querying: query', querying: NOTHING, 'backing off': NOTHING, stopped: NOTHING },
	unchanged: {
		idle: NOTHING,
		querying: 'querying: reset retries, verify, pace, query',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	changed: {
		idle: NOTHING,
		querying: 'querying: reset retries, publish, pace, query',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	'index went back': {
		idle: NOTHING,
		querying: 'querying: reset retries, index 0, publish if different, pace, query',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	failed: {
		idle: NOTHING,
		querying: 'backing off: report, index 0, schedule',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	due: { idle: NOTHING, querying: NOTHING, 'backing off': 'querying: query', stopped: NOTHING },
	reread: {
		idle: NOTHING,
		querying: 'querying: abort the query, cancel the timer, index 0, spread, query',
		'backing off': 'backing off: cancel the timer, schedule soon',
		stopped: NOTHING,
	},
	retry: {
		idle: NOTHING,
		querying: NOTHING,
		'backing off': 'backing off: cancel the timer, schedule soon',
		stopped: NOTHING,
	},
	stop: {
		idle: 'stopped: ',
		querying: 'stopped: abort the query, cancel the timer',
		'backing off': 'stopped: cancel the timer',
		stopped: NOTHING,
	},
};

const pairs = Object.entries(cells).flatMap(([event, row]) =>
	Object.entries(row).map(([state, outcome]) => ({ event, state, outcome })),
);

describe('the watch machine', () => {
	it('has a row here for every cell of the table', () => {
		const count = Object.values(watchMachine).reduce((sum, row) => sum + Object.keys(row).length, 0);
		expect(pairs).toHaveLength(count);
	});

	it.each(pairs)('$event while $state: $outcome', ({ event, state, outcome }) => {
		const { state: next, actions } = step(watchMachine, state as WatchState, event as WatchEvent);
		if (outcome === NOTHING) expect({ next, actions }).toEqual({ next: state, actions: [] });
		else expect(`${next}: ${actions.join(', ')}`).toBe(outcome);
	});
});
