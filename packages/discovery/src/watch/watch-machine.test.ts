import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type WatchEvent, type WatchState, watchMachine } from './watch-loop.ts';

const NOTHING = 'nothing';
type Cells = Readonly<Record<WatchEvent, Readonly<Record<WatchState, string>>>>;

// Written out by hand: a cell that is changed by accident is seen here.
const cells: Cells = {
	start: { idle: 'querying: query', querying: NOTHING, 'backing off': NOTHING, stopped: NOTHING },
	unchanged: {
		idle: NOTHING,
		querying: 'querying: reset retries, notify, query at the pace',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	changed: {
		idle: NOTHING,
		querying: 'querying: reset retries, notify, query at the pace',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	'index went back': {
		idle: NOTHING,
		querying: 'querying: reset retries, index 0, notify, query at the pace',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	failed: {
		idle: NOTHING,
		querying: 'backing off: notify, index 0, retry later',
		'backing off': NOTHING,
		stopped: NOTHING,
	},
	due: { idle: NOTHING, querying: NOTHING, 'backing off': 'querying: query', stopped: NOTHING },
	reread: {
		idle: NOTHING,
		querying: 'querying: cancel, index 0, query soon',
		'backing off': 'backing off: cancel, retry soon',
		stopped: NOTHING,
	},
	retry: { idle: NOTHING, querying: NOTHING, 'backing off': 'backing off: cancel, retry soon', stopped: NOTHING },
	stop: { idle: 'stopped: ', querying: 'stopped: cancel', 'backing off': 'stopped: cancel', stopped: NOTHING },
};

const pairs = Object.entries(cells).flatMap(([event, row]) =>
	Object.entries(row).map(([state, outcome]) => ({ event, state, outcome })),
);

describe('the watch machine', () => {
	it.each(pairs)('$event while $state: $outcome', ({ event, state, outcome }) => {
		const { state: next, actions } = step(watchMachine, state as WatchState, event as WatchEvent);
		if (outcome === NOTHING) expect({ next, actions }).toEqual({ next: state, actions: [] });
		else expect(`${next}: ${actions.join(', ')}`).toBe(outcome);
	});
});
