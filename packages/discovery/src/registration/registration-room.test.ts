import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, openRegistrations } from '../../test/open-registrations.ts';
import type { RegistrationHolder } from './registration-holders.ts';

const GRACE_MS = 10_000;
const overloaded = { code: 'OVERLOADED' };

function holder(app?: string): RegistrationHolder {
	return { app, identity: `client ${Math.random()}`, told: () => undefined };
}

function open(registrationsMax = 4) {
	const site = openRegistrations({ registrationsMax, reconnectGraceMs: GRACE_MS });
	const { registrations } = site;
	return {
		...site,
		/** Registers these, bound to the sidecar, and leaves them behind. */
		leave: async (by: RegistrationHolder, ...ids: string[]) => {
			for (const id of ids) await registrations.claim({ ...barista, id, bind: 'sidecar' }, by);
			registrations.abandon(by);
		},
		claim: async (id: string, by = holder('till')) => registrations.claim({ ...barista, id }, by),
		ids: () => registrations.list().map(({ id }) => id),
	};
}

describe('registrations that their client has left, where there is no room', () => {
	it('are replaced by those of the living, once the grace is over, and deregistered', async () => {
		const { leave, claim, clock, registrar } = open();
		await leave(holder(), 'a', 'b', 'c', 'd');
		await expect(claim('new')).rejects.toMatchObject(overloaded);
		await clock.advance(GRACE_MS);
		expect(await claim('new')).toMatchObject({ state: 'registered' });
		await settle();
		expect([...registrar.known.keys()]).toEqual(['a', 'b', 'c', 'new']);
		expect(await claim('newer')).toMatchObject({ state: 'registered' });
		await settle();
		expect(registrar.known.size).toBe(4);
	});

	it('are those of the app that has most of them, the one that was left last', async () => {
		const { leave, claim, clock, ids } = open();
		await leave(holder('flood'), 'f1');
		await clock.advance(1);
		await leave(holder('flood'), 'f2');
		await clock.advance(1);
		await leave(holder('shop'), 's1');
		await claim('held');
		await clock.advance(GRACE_MS);
		await claim('n1');
		await settle();
		expect(ids()).toEqual(['f1', 's1', 'held', 'n1']);
	});

	it('stay where a client holds them, and where no room is needed', async () => {
		const { registrations, claim, clock, ids } = open(2);
		const app = holder();
		await registrations.claim({ ...barista, id: 'a', bind: 'sidecar' }, app);
		await registrations.claim({ ...barista, id: 'b' }, app);
		await clock.advance(GRACE_MS);
		await expect(claim('new')).rejects.toMatchObject(overloaded);
		expect(ids()).toEqual(['a', 'b']);
	});

	it('are not more than a limit while the registry is away, and need room when they are registered again', async () => {
		const { leave, claim, clock, registrar, registrations } = open(66);
		const all = Array.from({ length: 66 }, (_, n) => `a${n}`);
		for (const id of all) await leave(holder(), id);
		await clock.advance(GRACE_MS);
		registrar.holds = true;
		const outcomes: string[] = [];
		for (const id of all) {
			const claimed = claim(`n${id}`);
			claimed.then(
				() => outcomes.push('good'),
				({ code }) => outcomes.push(code),
			);
			await settle();
		}
		expect(outcomes).toEqual(['OVERLOADED', 'OVERLOADED']);
		expect(registrations.count).toBe(66 + 64);
		registrations.close();
	});
});
