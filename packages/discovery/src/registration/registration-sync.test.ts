import { type RegistrationReply, SpockError } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { away, barista, denied, holder, openRegistrations } from '../../test/open-registrations.ts';

describe('the registry', () => {
	it('away: the app is told, it is tried with growing delays, and told again', async () => {
		const { clock, registrar, registrations, events } = openRegistrations();
		registrar.error = away;
		const app = holder();
		expect(await registrations.claim(barista, app)).toMatchObject({
			state: 'pending',
			error: 'refused',
			instance: null,
		});
		// random is 1: 250, 500, 1000, … and at most a third of the time to live.
		await clock.advance(250 + 500 + 1000);
		expect(registrar.writes).toHaveLength(4);
		await clock.advance(2000 + 4000 + 5000 + 5000);
		expect(registrar.writes).toHaveLength(8);
		expect(await registrations.report({ id: 'b1', status: 'warning' }, app).then(({ state }) => state)).toBe('pending');
		registrar.error = undefined;
		await clock.advance(5000);
		expect(registrar.known.get('b1')?.health.status).toBe('warning');
		expect(app.seen).toEqual(['b1 pending', 'b1 registered']);
		expect(
			events.filter((event) => event.type === 'registration').map(({ phase, state }) => `${phase} ${state}`),
		).toEqual(['held pending', 'held pending', 'held registered']);
	});

	it('lost it: it is registered again with the next renewal', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrar.known.clear();
		await clock.advance(5000);
		expect(registrar.known.has('b1')).toBe(true);
		expect(registrar.writes).toEqual(['register b1 passing', 'report b1 passing', 'register b1 passing']);
		// Within one breath: there is nothing to tell the app.
		expect(app.seen).toEqual(['b1 registered']);
	});

	it('slower than an app waits: the app is told before it gives up, and again when it is known', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.holds = true;
		const app = holder();
		const claimed = registrations.claim(barista, app, { timeoutMs: 1000 });
		await clock.advance(800);
		expect(await claimed).toMatchObject({ state: 'pending', error: 'the registry has not been updated yet' });
		registrar.release();
		await settle();
		expect(app.seen).toEqual(['b1 registered']);
		const slow = registrations.report({ id: 'b1', status: 'warning' }, app);
		await clock.advance(4000);
		expect(await slow).toMatchObject({ state: 'pending', error: 'the registry has not answered yet' });
		registrar.release(denied);
		await settle();
		expect(app.seen).toEqual(['b1 registered', 'b1 pending']);
		registrations.close();
	});

	it('what a connection that registered nothing does changes nothing', async () => {
		const { registrar, registrations } = openRegistrations();
		await registrations.claim(barista, holder());
		const stranger = holder();
		registrations.silence(stranger, 'nothing was heard of it');
		registrations.abandon(stranger);
		expect(registrar.known.get('b1')?.health.status).toBe('passing');
		registrations.release();
		registrations.release();
		registrations.abandon(stranger);
		expect(registrations.count).toBe(1);
		registrations.close();
		registrations.close();
	});

	it('slower than a further holder waits: it is told when it is known, although nothing has changed for the first', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const [first, second] = [holder(), holder()];
		await registrations.claim(barista, first);
		registrar.holds = true;
		const worse = registrations.report({ id: 'b1', status: 'critical' }, first);
		const claimed = registrations.claim(barista, second, { timeoutMs: 1000 });
		await clock.advance(800);
		expect(await claimed).toMatchObject({ state: 'pending' });
		registrar.holds = false;
		while (registrar.waiting.length > 0) registrar.release();
		await worse;
		await settle();
		expect(second.seen).toEqual(['b1 registered']);
		registrations.close();
	});

	it('refuses it after the app was told to wait: the app is told that it has ended', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.holds = true;
		const told: RegistrationReply[] = [];
		const claimed = registrations.claim(barista, { told: (reply) => told.push(reply) });
		await clock.advance(4000);
		expect(await claimed).toMatchObject({ state: 'pending' });
		registrar.release(denied);
		await settle();
		expect(told).toMatchObject([{ state: 'deregistered', error: 'denied' }]);
		expect(registrations.count).toBe(0);
	});

	it('slower than an app that gives up: what it does not hold is taken out again', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.holds = true;
		const stop = new AbortController();
		void registrations.claim(barista, holder(), { signal: stop.signal });
		stop.abort();
		registrar.holds = false;
		registrar.release();
		await settle();
		expect(registrar.known.get('b1')?.health.status).toBe('critical');
		await clock.advance(10_000);
		expect(registrar.known.size).toBe(0);
		expect(clock.pendingTimers).toBe(0);
	});

	it('asked twice by one app, which gives up once: the other claim of its goes on', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.holds = true;
		const app = holder();
		const [first, second] = [new AbortController(), new AbortController()];
		void registrations.claim(barista, app, { signal: first.signal });
		const claimed = registrations.claim(barista, app, { signal: second.signal });
		first.abort();
		registrar.holds = false;
		registrar.release();
		expect(await claimed).toMatchObject({ state: 'registered' });
		await clock.advance(30_000);
		expect(registrar.known.get('b1')?.health.status).toBe('passing');
		// Its connection ends all its claims at once.
		registrations.abandon(app);
		await clock.advance(10_000);
		expect(registrar.known.size).toBe(0);
		registrations.close();
	});

	it('lost it for ever: no write without a pause', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.register = async (definition) => {
			registrar.writes.push(`register ${definition.id}`);
			throw new SpockError('NO_SUCH_SERVICE', 'gone again');
		};
		expect(await registrations.claim(barista, holder())).toMatchObject({ state: 'pending' });
		await clock.advance(249);
		expect(registrar.writes).toHaveLength(1);
		registrations.close();
	});
});
