import { step } from '@spock/protocol/internal';
import { describe, expect, it } from 'vitest';

import { registrationSyncMachine, type SyncEvent, type SyncState } from './registration-sync.ts';

/** Every cell that does something, written out by hand; all others must do nothing. */
const CELLS: Readonly<Record<string, string>> = {
	'in step + wanted': 'writing: cancel timer, write',
	'in step + wanted now': 'writing: cancel timer, write',
	'in step + due': 'writing: write',
	'in step + stop': 'stopped: cancel timer',
	'writing + wanted': 'outdated: ',
	'writing + wanted now': 'outdated: ',
	'writing + written': 'in step: reset retries, schedule refresh',
	'writing + lost': 'writing: write',
	'writing + failed': 'backing off: schedule retry',
	'writing + stop': 'stopped: ',
	'outdated + written': 'writing: reset retries, write',
	'outdated + lost': 'writing: write',
	'outdated + failed': 'backing off: schedule retry',
	'outdated + stop': 'stopped: ',
	'backing off + wanted now': 'writing: cancel timer, write',
	'backing off + due': 'writing: write',
	'backing off + stop': 'stopped: cancel timer',
};

const states = Object.keys(registrationSyncMachine) as SyncState[];
const events: readonly SyncEvent[] = ['wanted', 'wanted now', 'written', 'lost', 'failed', 'due', 'stop'];

describe('the machine that keeps the registry in step', () => {
	const pairs = states.flatMap((state) => events.map((event) => [state, event] as const));
	it.each(pairs)('%s + %s', (state, event) => {
		const { state: next, actions } = step(registrationSyncMachine, state, event);
		expect(`${next}: ${actions.join(', ')}`).toBe(CELLS[`${state} + ${event}`] ?? `${state}: `);
	});
});
