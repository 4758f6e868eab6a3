import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, holder, openRegistrations } from '../../test/open-registrations.ts';

describe('an app that is lost', () => {
	it('is critical at once, and deregistered after the grace', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrations.abandon(app);
		await settle();
		expect(registrar.known.get('b1')?.health).toMatchObject({
			status: 'critical',
			note: expect.stringContaining('lost'),
		});
		await clock.advance(9_999);
		expect(registrar.known.has('b1')).toBe(true);
		await clock.advance(1);
		expect(registrar.known.has('b1')).toBe(false);
		expect(registrations.count).toBe(0);
		expect(clock.pendingTimers).toBe(0);
	});

	it('comes back within the grace with what it reported', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim({ ...barista, status: 'warning', note: 'busy' }, app);
		registrations.abandon(app);
		await clock.advance(9_999);
		await registrations.claim({ ...barista, status: 'warning', note: 'busy' }, holder());
		expect(registrar.known.get('b1')?.health).toEqual({ status: 'warning', note: 'busy' });
		const before = registrar.writes.length;
		await clock.advance(60_000);
		expect(registrar.writes).toContain('report b1 critical');
		expect(new Set(registrar.writes.slice(before))).toEqual(new Set(['report b1 warning']));
		expect(registrar.writes.filter((write) => write.startsWith('register'))).toHaveLength(1);
	});

	it('is never seen as ill while another connection holds it', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const [first, second] = [holder(), holder()];
		await registrations.claim(barista, first);
		await registrations.claim(barista, second);
		registrations.abandon(first);
		await clock.advance(60_000);
		expect(registrar.writes.some((write) => write.includes('critical'))).toBe(false);
		registrations.abandon(second);
		await settle();
		expect(registrar.writes.at(-1)).toBe('report b1 critical');
	});

	it('stays, when it is bound to the sidecar, until somebody deregisters it', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim({ ...barista, bind: 'sidecar' }, app);
		registrations.abandon(app);
		await clock.advance(120_000);
		expect(registrar.known.get('b1')?.health.status).toBe('passing');
		await registrations.withdraw('b1', holder());
		expect(registrar.known.size).toBe(0);
	});
});

describe('workers that share one registration', () => {
	it('a worker whose connection was lost may end what it had said before, and moves nobody else by it', async () => {
		const { registrar, registrations } = openRegistrations();
		const [first, second] = [holder('first'), holder('second')];
		await registrations.claim(barista, first);
		await registrations.claim(barista, second);
		registrations.abandon(second);
		// What was under way when the connection went is sent again on the next one, before it has registered there.
		const back = holder('second');
		await registrations.report({ id: 'b1', status: 'critical' }, back);
		expect(registrar.known.get('b1')?.health.status).toBe('passing');
		await registrations.withdraw('b1', back);
		expect(registrar.known.has('b1')).toBe(true);
		expect(() => registrations.report({ id: 'b1', status: 'critical' }, back)).toThrow('registered by another client');
		expect(() => registrations.report({ id: 'b1', status: 'critical' }, holder('stranger'))).toThrow('another client');
	});

	it('the one that registered first is no exception: its word counts when it has registered again', async () => {
		const { registrar, registrations } = openRegistrations();
		const [first, second] = [holder('first'), holder('second')];
		await registrations.claim(barista, first);
		await registrations.claim(barista, second);
		registrations.abandon(first);
		const back = holder('first');
		await registrations.report({ id: 'b1', status: 'critical' }, back);
		expect(registrar.known.get('b1')?.health.status).toBe('passing');
		await registrations.claim({ ...barista, status: 'critical' }, back);
		await registrations.report({ id: 'b1', status: 'critical' }, second);
		expect(registrar.known.get('b1')?.health.status).toBe('critical');
	});
});
