import { describe, expect, it } from 'vitest';
import { type OutboxEvent, type OutboxStateName, outboxMachine } from './outbox-machine.ts';

const states = Object.keys(outboxMachine) as OutboxStateName[];
const events = [...new Set(Object.values(outboxMachine).flatMap((row) => Object.keys(row)))] as OutboxEvent[];

const OPEN = 'open producer, dial uplink';
/** Every cell that does something, written out a second time: a change of the table must be meant. */
const CELLS: Readonly<Record<string, string>> = {
	'away / emitted': 'away: keep',
	'away / adopted': `opening: ${OPEN}`,
	'away / drain, some kept': 'ending',
	'away / drain, none kept': 'ended',
	'away / close': 'ended: reject kept',
	'opening / emitted': 'opening: keep',
	'opening / adopted': `opening: ${OPEN}, end old uplink`,
	'opening / opened, some kept': 'can send: forget, settle, resend',
	'opening / opened, none kept': 'idle: forget, settle',
	'opening / acked, some left': 'opening: forget, settle',
	'opening / acked, none left': 'opening: forget, settle',
	'opening / stalled': `opening: drop uplink, ${OPEN}`,
	'opening / lost': 'away: drop uplink',
	'opening / no events here': 'away: drop uplink, report',
	'opening / drain, some kept': 'ending',
	'opening / drain, none kept': 'ended: drop uplink',
	'opening / close': 'ended: drop uplink, reject kept',
	'idle / emitted': 'can send: keep, send',
	'idle / adopted': `opening: ${OPEN}, end old uplink`,
	'idle / lost': 'away: drop uplink',
	'idle / drain, none kept': 'ended: end uplink',
	'idle / close': 'ended: end uplink',
	'can send / emitted': 'can send: keep, send',
	'can send / adopted': `opening: ${OPEN}, end old uplink`,
	'can send / window used up': 'blocked',
	'can send / acked, some left': 'can send: forget, settle',
	'can send / acked, none left': 'idle: forget, settle',
	'can send / stalled': `opening: drop uplink, ${OPEN}`,
	'can send / lost': 'away: drop uplink',
	'can send / drain, some kept': 'ending',
	'can send / close': 'ended: drop uplink, reject kept',
	'blocked / emitted': 'blocked: keep',
	'blocked / adopted': `opening: ${OPEN}, end old uplink`,
	'blocked / window, room': 'can send: send',
	'blocked / acked, some left': 'blocked: forget, settle',
	'blocked / acked, none left': 'idle: forget, settle',
	'blocked / stalled': `opening: drop uplink, ${OPEN}`,
	'blocked / lost': 'away: drop uplink',
	'blocked / drain, some kept': 'ending',
	'blocked / close': 'ended: drop uplink, reject kept',
	'ending / adopted': `ending: ${OPEN}, end old uplink`,
	'ending / opened, some kept': 'ending: forget, settle, resend',
	'ending / opened, none kept': 'ended: forget, settle, end uplink',
	'ending / window, room': 'ending: send',
	'ending / acked, some left': 'ending: forget, settle',
	'ending / acked, none left': 'ended: forget, settle, end uplink',
	'ending / stalled': `ending: drop uplink, ${OPEN}`,
	'ending / lost': 'ending: drop uplink',
	'ending / no events here': 'ending: drop uplink, report',
	'ending / close': 'ended: drop uplink, reject kept',
};

describe('the outbox machine', () => {
	for (const state of states) {
		for (const event of events) {
			const expected = CELLS[`${state} / ${event}`];
			it(`${state}, ${event}: ${expected ?? 'nothing happens'}`, () => {
				const [next, ...actions] = outboxMachine[state][event] ?? [undefined];
				expect(actions.length === 0 ? next : `${next}: ${actions.join(', ')}`).toBe(expected);
			});
		}
	}

	it('has no cell besides those', () => {
		expect([states.length, events.length]).toEqual([7, 14]);
		for (const name of Object.keys(CELLS)) expect(states.some((state) => name.startsWith(`${state} / `))).toBe(true);
	});
});
