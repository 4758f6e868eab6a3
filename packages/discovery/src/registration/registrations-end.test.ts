import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { away, barista, found, holder, openRegistrations } from '../../test/open-registrations.ts';

describe('the end of registrations', () => {
	it('a connection that is lost twice, or has registered nothing, is lost once', async () => {
		const { registrations } = openRegistrations();
		const one = holder();
		registrations.abandon(one);
		await registrations.claim(barista, one);
		registrations.abandon(one);
		registrations.abandon(one);
		await settle();
		expect(registrations.list()).toMatchObject([{ id: 'b1' }]);
		registrations.close();
	});

	it('a deregistration is reported once as begun, and once as done', async () => {
		const { registrations, events } = openRegistrations();
		const one = holder();
		await registrations.claim(barista, one);
		events.length = 0;
		await registrations.withdraw('b1', one);
		const reported = events.filter((event) => event.type === 'registration');
		expect(reported.map(({ phase, state }) => `${phase} ${state}`)).toEqual([
			'leaving deregistered',
			'gone deregistered',
		]);
	});

	it('closed twice is closed once, and leaves no timer; a drain after it is over', async () => {
		const { clock, registrations } = openRegistrations();
		const one = holder();
		await registrations.claim(barista, one);
		registrations.close();
		registrations.close();
		await registrations.drain();
		expect([registrations.list(), clock.pendingTimers]).toEqual([[], 0]);
		registrations.abandon(one);
	});
});

describe('a source in an app that ends', () => {
	it('deregisters everything, refuses the next, and tells the holders', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const [app, other] = [holder(), holder()];
		await registrations.claim(barista, app);
		await registrations.claim({ ...barista, id: 'b2', bind: 'sidecar' }, other);
		await registrations.drain();
		expect(registrar.known.size).toBe(0);
		expect(app.seen).toEqual(['b1 registered', 'b1 pending']);
		expect(() => registrations.claim(barista, app)).toThrow('shutting down');
		registrations.abandon(app);
		await registrations.drain();
		expect(clock.pendingTimers).toBe(0);
	});

	it('does not wait for a registry that is away longer than it is let', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		await registrations.claim(barista, holder());
		registrar.error = away;
		const drained = registrations.drain();
		await clock.advance(1000);
		registrations.close();
		await drained;
		expect(clock.pendingTimers).toBe(0);
	});
});

describe('a sidecar that ends', () => {
	it('leaves what an app holds as it is, for the next one to find', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim({ ...barista, status: 'warning' }, app);
		await registrations.leave();
		// The app is told nothing, and still served: it may report, and drain.
		await clock.advance(5000);
		await registrations.report({ id: 'b1', status: 'passing' }, app);
		expect(registrar.writes.slice(-2)).toEqual(['report b1 warning', 'report b1 passing']);
		expect(() => registrations.claim({ ...barista, id: 'b2' }, app)).toThrow('shutting down');
		registrations.abandon(app);
		await clock.advance(60_000);
		expect(registrar.known.get('b1')?.health.status).toBe('passing');
		expect(app.seen).toEqual(['b1 registered']);
		expect([registrations.count, clock.pendingTimers]).toEqual([0, 0]);
	});

	it('writes nothing for an app that has moved, and deregisters what others left', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const [moved, gone] = [holder(), holder()];
		await registrations.claim(barista, moved);
		await registrations.claim({ ...barista, id: 'b2' }, gone);
		registrations.abandon(moved, true);
		registrations.abandon(gone);
		await settle();
		expect(registrar.writes.slice(2)).toEqual(['report b2 critical']);
		await registrations.leave();
		await clock.advance(60_000);
		expect([...registrar.known.keys()]).toEqual(['b1']);
		expect(registrar.known.get('b1')?.health.status).toBe('passing');
		expect([registrations.count, clock.pendingTimers]).toEqual([0, 0]);
	});

	it('leaves what is bound to it to an app that has moved, and has registered it with the next one', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const moved = holder();
		await registrations.claim({ ...barista, bind: 'sidecar' }, moved);
		registrations.abandon(moved, true);
		await registrations.leave();
		await clock.advance(60_000);
		expect(registrar.writes).toEqual(['register b1 passing']);
		expect([registrations.count, clock.pendingTimers]).toEqual([0, 0]);
	});

	it('once one of two clients of an instance has moved writes what the other one reports', async () => {
		const { registrar, registrations } = openRegistrations();
		const [moved, other] = [holder('a'), holder('b')];
		await registrations.claim(barista, moved);
		await registrations.claim({ ...barista, status: 'warning' }, other);
		expect(registrar.writes.at(-1)).toBe('register b1 passing');
		registrations.abandon(moved, true);
		await settle();
		expect(registrar.writes.at(-1)).toBe('report b1 warning');
		// It may still come back: its report is accepted without another registration.
		await registrations.report({ id: 'b1', status: 'passing' }, holder('a'));
		registrations.abandon(other, true);
		expect(registrations.count).toBe(0);
	});

	it('takes out what an app drains until the very end', async () => {
		const { registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		await registrations.leave();
		await registrations.withdraw('b1', app);
		expect(registrar.known.size).toBe(0);
	});

	it('takes out what its app has left, and what was bound to it', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const [app, other] = [holder(), holder()];
		await registrations.claim(barista, app);
		await registrations.claim({ ...barista, id: 'b2', bind: 'sidecar' }, other);
		registrations.abandon(app);
		registrations.abandon(other);
		await settle();
		registrar.holds = true;
		let isOver = false;
		const left = registrations.leave().then(() => {
			isOver = true;
		});
		await settle();
		expect([registrar.waiting, isOver]).toEqual([['deregister b1', 'deregister b2'], false]);
		registrar.release();
		registrar.release();
		await left;
		expect([registrar.known.size, clock.pendingTimers]).toEqual([0, 0]);
	});

	it('leaves alone what it has found, and whose app it has not seen yet', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.found = [found('b1', 'connection')];
		registrations.adopt();
		await settle();
		await registrations.leave();
		await clock.advance(60_000);
		expect([registrar.writes, clock.pendingTimers]).toEqual([[], 0]);
	});
});

describe('a sidecar that another one replaces', () => {
	it('tells the registry nothing of an app that moves, and stops renewing what it held', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrations.release();
		await registrations.drain();
		expect(registrations.count).toBe(1);
		registrations.abandon(app);
		expect(registrations.count).toBe(0);
		await clock.advance(60_000);
		expect(registrar.writes).toEqual(['register b1 passing']);
		expect(app.seen).toEqual(['b1 registered']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('keeps up what an app holds until it has moved, and takes what it still registers or takes out here', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		const app = holder();
		await registrations.claim(barista, app);
		registrations.release();
		await clock.advance(5000);
		expect(registrar.writes.at(-1)).toBe('report b1 passing');
		expect(await registrations.claim({ ...barista, id: 'b2' }, app)).toMatchObject({ state: 'registered' });
		await registrations.withdraw('b1', app);
		expect([...registrar.known.keys()]).toEqual(['b2']);
		// Nobody would know of it: the next sidecar has asked by now.
		const bound = { ...barista, id: 'b3', bind: 'sidecar' as const };
		expect(() => registrations.claim(bound, app)).toThrow('with the next one');
	});

	it('leaves to the other what nobody holds here: no grace of its own runs out', async () => {
		const { clock, registrar, registrations } = openRegistrations();
		registrar.known.set('b7', found('b7', 'sidecar'));
		registrations.adopt();
		await settle();
		const app = holder();
		await registrations.claim(barista, app);
		registrations.abandon(app);
		await settle();
		registrations.release();
		expect(registrations.count).toBe(0);
		await clock.advance(60_000);
		expect([...registrar.known.keys()].sort()).toEqual(['b1', 'b7']);
		expect(clock.pendingTimers).toBe(0);
	});
});
