import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { type CacheEntryEvent, type CacheEntryState, cacheEntryMachine } from './cache-entry-machine.ts';

const NOTHING = 'nothing';
const FIRST = 'fresh: verify, publish, settle waiters';
const HELD = 'held: start the hold, publish, settle waiters';
const BACK = 'fresh: end the hold, verify, publish, settle waiters';
const LATE = 'stale: verify, publish, settle waiters';
const LATE_BACK = 'stale: end the hold, verify, publish, settle waiters';
const EVICTED = 'evicted: stop the watch';
const CLOSED = 'evicted: stop the watch, reject waiters';
type Cells = Readonly<Record<CacheEntryEvent, Readonly<Record<CacheEntryState, string>>>>;

// Written out by hand: a cell that is changed by accident is seen here.
const cells: Cells = {
	'answered, same': {
		cold: FIRST,
		fresh: 'fresh: verify, settle waiters',
		held: BACK,
		confirming: BACK,
		stale: FIRST,
		evicted: NOTHING,
	},
	'answered, different': {
		cold: FIRST,
		fresh: FIRST,
		held: BACK,
		confirming: BACK,
		stale: FIRST,
		evicted: NOTHING,
	},
	'late, same': {
		cold: LATE,
		fresh: LATE,
		held: LATE_BACK,
		confirming: LATE_BACK,
		stale: 'stale: verify, settle waiters',
		evicted: NOTHING,
	},
	'late, different': {
		cold: LATE,
		fresh: LATE,
		held: LATE_BACK,
		confirming: LATE_BACK,
		stale: LATE,
		evicted: NOTHING,
	},
	emptied: { cold: FIRST, fresh: HELD, held: NOTHING, confirming: BACK, stale: HELD, evicted: NOTHING },
	'hold due': {
		cold: NOTHING,
		fresh: NOTHING,
		held: 'confirming: ask anew',
		confirming: NOTHING,
		stale: NOTHING,
		evicted: NOTHING,
	},
	'hold over': {
		cold: NOTHING,
		fresh: NOTHING,
		held: BACK,
		confirming: BACK,
		stale: NOTHING,
		evicted: NOTHING,
	},
	failed: {
		cold: 'cold: report the failure',
		fresh: 'stale: publish, report the failure',
		held: 'stale: end the hold, publish, report the failure',
		confirming: 'stale: end the hold, publish, report the failure',
		stale: 'stale: report the failure',
		evicted: NOTHING,
	},
	'stood still': {
		cold: NOTHING,
		fresh: 'stale: publish',
		held: NOTHING,
		confirming: NOTHING,
		stale: NOTHING,
		evicted: NOTHING,
	},
	restored: {
		cold: 'stale: publish, settle waiters',
		fresh: NOTHING,
		held: NOTHING,
		confirming: NOTHING,
		stale: NOTHING,
		evicted: NOTHING,
	},
	idle: {
		cold: EVICTED,
		fresh: EVICTED,
		held: 'evicted: end the hold, stop the watch',
		confirming: 'evicted: end the hold, stop the watch',
		stale: EVICTED,
		evicted: NOTHING,
	},
	close: {
		cold: CLOSED,
		fresh: CLOSED,
		held: 'evicted: end the hold, stop the watch, reject waiters',
		confirming: 'evicted: end the hold, stop the watch, reject waiters',
		stale: CLOSED,
		evicted: NOTHING,
	},
};

const pairs = Object.entries(cells).flatMap(([event, row]) =>
	Object.entries(row).map(([state, outcome]) => ({ event, state, outcome })),
);

describe('the cache entry machine', () => {
	it.each(pairs)('$event while $state: $outcome', ({ event, state, outcome }) => {
		const { state: next, actions } = step(cacheEntryMachine, state as CacheEntryState, event as CacheEntryEvent);
		if (outcome === NOTHING) expect({ next, actions }).toEqual({ next: state, actions: [] });
		else expect(`${next}: ${actions.join(', ')}`).toBe(outcome);
	});
});
