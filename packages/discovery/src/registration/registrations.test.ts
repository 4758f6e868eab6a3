import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { away, barista, denied, holder, openRegistrations } from '../../test/open-registrations.ts';

describe('an app that registers', () => {
	it('is registered when the registry knows it, and is renewed three times in its time to live', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		const reply = await registrations.claim(barista, app);
		expect(reply).toEqual({ id: 'b1', service: 'barista', instance: 'node/b1', state: 'registered', error: null });
		await clock.advance(15_000);
		expect(registrar.writes).toEqual(['register b1 passing', ...Array(3).fill('report b1 passing')]);
		expect(app.seen).toEqual(['b1 registered']);
		registrations.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('gets an id, a host and a place in the list from the sidecar', async () => {
		const { registrar, registrations } = openRegistrations({ advertise: '10.0.0.9', machine: 'pod-7' });
		const { id } = await registrations.claim({ service: 'barista', port: 80 }, holder());
		expect(id).toBe('barista-pod-7-80');
		expect(registrar.known.get(id)?.definition).toMatchObject({ host: '10.0.0.9', bind: 'connection' });
		const { id: odd } = await registrations.claim({ service: '/ä b', port: 80 }, holder());
		expect(odd).toMatch(/^[A-Za-z0-9_][\w.:@~+-]*$/);
		const { id: other } = await registrations.claim({ service: '/ö b', port: 80 }, holder());
		expect(other).not.toBe(odd);
		expect(registrations.list()).toHaveLength(3);
	});

	it('again with the same data is no write; with other data it is registered anew', async () => {
		const { registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		await registrations.claim({ ...barista }, app);
		expect(registrar.writes).toHaveLength(1);
		await registrations.claim({ ...barista, tags: ['v2'] }, app);
		expect(registrar.writes).toEqual(['register b1 passing', 'register b1 passing']);
		expect(registrar.known.get('b1')?.definition.tags).toEqual(['v2']);
	});

	it('reports itself; a report that says nothing new is no write', async () => {
		const { registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim({ ...barista, status: 'critical', note: 'warming up' }, app);
		expect(registrar.known.get('b1')?.health).toEqual({ status: 'critical', note: 'warming up' });
		expect(await registrations.report({ id: 'b1', status: 'passing' }, app)).toMatchObject({ state: 'registered' });
		await registrations.report({ id: 'b1', status: 'passing' }, app);
		expect(registrar.writes).toEqual(['register b1 critical', 'report b1 passing']);
		expect(() => registrations.report({ id: 'b2', status: 'passing' }, app)).toThrow('register it first');
	});

	it('is known by what it holds: its own, and what it shares, until it leaves', async () => {
		const { registrations } = openRegistrations();
		const [app, other] = [holder(), holder()];
		await registrations.claim(barista, app);
		await registrations.claim(barista, other);
		await registrations.claim({ ...barista, id: 'b2' }, other);
		const held = (one: typeof app): string[] => registrations.heldBy(one).map(({ id }) => id);
		expect([held(app), held(other), held(holder())]).toEqual([['b1'], ['b1', 'b2'], []]);
		await registrations.withdraw('b1', app);
		registrations.abandon(other);
		expect([held(app), held(other)]).toEqual([[], []]);
	});

	it('is refused what the registry refuses, and forgotten', async () => {
		const { registrar, registrations } = openRegistrations();
		registrar.error = denied;
		await expect(registrations.claim(barista, holder())).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect(registrations.count).toBe(0);
		registrar.error = undefined;
		expect(await registrations.claim(barista, holder())).toMatchObject({ state: 'registered' });
	});

	it('may not go past the limits', async () => {
		const { registrations } = openRegistrations({ registrationsMax: 3, registrationsPerHolderMax: 2 });
		const app = holder();
		await registrations.claim(barista, app);
		await registrations.claim({ ...barista, id: 'b2' }, app);
		expect(() => registrations.claim({ ...barista, id: 'b3' }, app)).toThrow(/this connection has registered 2/);
		expect(await registrations.claim({ ...barista, tags: ['again'] }, app)).toMatchObject({ state: 'registered' });
		await registrations.claim({ ...barista, id: 'b3' }, holder());
		expect(() => registrations.claim({ ...barista, id: 'b4' }, holder())).toThrow(/3 instances are registered/);
		const { registrations: shared } = openRegistrations({ registrationsMax: 6, registrationsPerHolderMax: 2 });
		const ofShop = (id: number) => ({ ...holder(), id, share: 'app shop' });
		const b = (number: number) => ({ ...barista, id: `b${number}` });
		for (const number of [1, 2, 3]) await shared.claim(b(number), ofShop(number));
		expect(() => shared.claim(b(4), ofShop(4))).toThrow(/clients of this app or address have registered 3/);
		await shared.claim(b(3), ofShop(5));
		await shared.claim(b(4), { ...holder(), share: 'app till' });
		const other = { ...holder(), share: 'host 10.0.0.9', isSidecar: true };
		const { registrations: first } = openRegistrations({ registrationsMax: 6, registrationsPerHolderMax: 2 });
		for (const number of [1, 2, 3]) await first.claim(b(number), other);
		expect(() => first.claim(b(4), other)).toThrow(/their share of 6/);
		const { registrar } = openRegistrations();
		const behind = openRegistrations({ registrar: Object.assign(registrar, { registrationsMax: 1 }) }).registrations;
		await behind.claim(barista, holder());
		expect(() => behind.claim({ ...barista, id: 'b2' }, holder())).toThrow(/^1 instances are registered/);
		const { registrations: none } = openRegistrations({ registrationsMax: 0 });
		const refusal = expect.objectContaining({
			code: 'UNKNOWN_FUNC',
			message: expect.stringContaining('registers nothing'),
		});
		expect(() => none.claim(barista, holder())).toThrow(refusal);
	});
});

describe('deregistering', () => {
	it('resolves when the registry knows; an id that is not registered is no error', async () => {
		const { registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrar.holds = true;
		let done = false;
		const withdrawn = registrations.withdraw('b1', app).then(() => {
			done = true;
		});
		await settle();
		expect(done).toBe(false);
		registrar.release();
		await withdrawn;
		await registrations.withdraw('b1', app);
		expect(registrations.count).toBe(0);
	});

	it('never overtakes the write before it', async () => {
		const { registrar, registrations } = openRegistrations();
		registrar.holds = true;
		const app = holder();
		const claimed = registrations.claim(barista, app);
		const withdrawn = registrations.withdraw('b1', app);
		await settle();
		expect(registrar.waiting).toEqual(['register b1 passing']);
		registrar.release();
		await settle();
		expect(registrar.waiting).toEqual(['deregister b1']);
		registrar.release();
		await Promise.all([claimed, withdrawn]);
		expect(registrar.known.size).toBe(0);
	});

	it('an app that registers again meanwhile is registered in the end', async () => {
		const { registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrar.holds = true;
		const withdrawn = registrations.withdraw('b1', app);
		const claimed = registrations.claim(barista, holder());
		await withdrawn;
		registrar.release();
		await settle();
		registrar.release();
		expect(await claimed).toMatchObject({ state: 'registered' });
		expect(registrar.known.has('b1')).toBe(true);
	});

	it('goes on while the registry is away, until that must have done it by itself', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrar.error = away;
		const stop = new AbortController();
		const withdrawn = registrations.withdraw('b1', app, stop.signal);
		await clock.advance(30_000);
		expect(registrar.writes.length).toBeGreaterThan(3);
		stop.abort();
		await expect(withdrawn).rejects.toMatchObject({ code: 'ABORTED' });
		await clock.advance(45_000);
		expect(registrations.count).toBe(0);
		expect(clock.pendingTimers).toBe(0);
	});

	it('tells who waits that the registry denies it', async () => {
		const { registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrar.error = denied;
		await expect(registrations.withdraw('b1', app)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		registrations.close();
	});
});
