import { type RegistrationReply, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeRegistrar } from '../../test/fake-registrar.ts';
import type { DiscoveryEvent } from '../foundation/discovery-event.ts';
import type { OwnedInstance } from '../foundation/registrar.ts';
import type { RegistrationHolder } from './registration-holders.ts';
import { Registrations } from './registrations.ts';
import type { RegistrationsOptions } from './registrations-options.ts';

const away = new SpockError('UNAVAILABLE', 'refused');
const denied = new SpockError('ACL_DENIED', 'denied');
const barista = { service: 'barista', id: 'b1', port: 8765 };

interface Holder extends RegistrationHolder {
	readonly seen: string[];
}

/** A connection; of a client that can be known again, with an identity. */
function holder(identity?: string): Holder {
	const seen: string[] = [];
	return { identity, seen, told: ({ id, state }: RegistrationReply) => seen.push(`${id} ${state}`) };
}

function open(options: Partial<RegistrationsOptions> = {}) {
	const clock = new FakeClock();
	const registrar = new FakeRegistrar();
	const events: DiscoveryEvent[] = [];
	const registrations = new Registrations({
		registrar,
		owner: 'me',
		clock,
		random: () => 1,
		onEvent: (event) => events.push(event),
		ttlMs: 15_000,
		reconnectGraceMs: 10_000,
		deregisterAfterMs: 60_000,
		...options,
	});
	return { clock, registrar, registrations, events };
}

const found = (id: string, bind: 'connection' | 'sidecar'): OwnedInstance => ({
	definition: { id, service: 'barista', port: 8765, tags: [], meta: {}, bind },
	instance: `node/${id}`,
	health: { status: 'warning', note: 'queue is long' },
});

describe('an app that registers', () => {
	it('is registered when the registry knows it, and is renewed three times in its time to live', async () => {
		const { clock, registrar, registrations } = open();
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
		const { registrar, registrations } = open({ advertise: '10.0.0.9', machine: 'pod-7' });
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
		const { registrar, registrations } = open();
		const app = holder();
		await registrations.claim(barista, app);
		await registrations.claim({ ...barista }, app);
		expect(registrar.writes).toHaveLength(1);
		await registrations.claim({ ...barista, tags: ['v2'] }, app);
		expect(registrar.writes).toEqual(['register b1 passing', 'register b1 passing']);
		expect(registrar.known.get('b1')?.definition.tags).toEqual(['v2']);
	});

	it('reports itself; a report that says nothing new is no write', async () => {
		const { registrar, registrations } = open();
		const app = holder();
		await registrations.claim({ ...barista, status: 'critical', note: 'warming up' }, app);
		expect(registrar.known.get('b1')?.health).toEqual({ status: 'critical', note: 'warming up' });
		expect(await registrations.report({ id: 'b1', status: 'passing' }, app)).toMatchObject({ state: 'registered' });
		await registrations.report({ id: 'b1', status: 'passing' }, app);
		expect(registrar.writes).toEqual(['register b1 critical', 'report b1 passing']);
		expect(() => registrations.report({ id: 'b2', status: 'passing' }, app)).toThrow('register it first');
	});

	it('is refused what the registry refuses, and forgotten', async () => {
		const { registrar, registrations } = open();
		registrar.error = denied;
		await expect(registrations.claim(barista, holder())).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect(registrations.count).toBe(0);
		registrar.error = undefined;
		expect(await registrations.claim(barista, holder())).toMatchObject({ state: 'registered' });
	});

	it('may not go past the limits', async () => {
		const { registrations } = open({ registrationsMax: 3, registrationsPerHolderMax: 2 });
		const app = holder();
		await registrations.claim(barista, app);
		await registrations.claim({ ...barista, id: 'b2' }, app);
		expect(() => registrations.claim({ ...barista, id: 'b3' }, app)).toThrow(/this connection has registered 2/);
		expect(await registrations.claim({ ...barista, tags: ['again'] }, app)).toMatchObject({ state: 'registered' });
		await registrations.claim({ ...barista, id: 'b3' }, holder());
		expect(() => registrations.claim({ ...barista, id: 'b4' }, holder())).toThrow(/3 instances are registered/);
	});
});

describe('an app that is lost', () => {
	it('is critical at once, and deregistered after the grace', async () => {
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { registrar, registrations } = open();
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
		const { registrar, registrations } = open();
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

describe('deregistering', () => {
	it('resolves when the registry knows; an id that is not registered is no error', async () => {
		const { registrar, registrations } = open();
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
		const { registrar, registrations } = open();
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
		const { registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { registrar, registrations } = open();
		const app = holder();
		await registrations.claim(barista, app);
		registrar.error = denied;
		await expect(registrations.withdraw('b1', app)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		registrations.close();
	});
});

describe('the registry', () => {
	it('away: the app is told, it is tried with growing delays, and told again', async () => {
		const { clock, registrar, registrations, events } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
		registrar.holds = true;
		const app = holder();
		const claimed = registrations.claim(barista, app, { timeoutMs: 1000 });
		await clock.advance(800);
		expect(await claimed).toMatchObject({ state: 'pending', error: 'the registry was not told yet' });
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
		const { registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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

describe('a sidecar that was restarted', () => {
	it('leaves what it finds as it is, and deregisters it when nobody comes within the grace', async () => {
		const { clock, registrar, registrations } = open();
		registrar.found = [found('b1', 'connection')];
		registrations.adopt();
		await clock.advance(9_999);
		expect(registrar.writes).toEqual([]);
		expect(registrations.list()).toMatchObject([{ id: 'b1', phase: 'adopted', holders: 0 }]);
		await clock.advance(1);
		expect(registrar.writes).toEqual(['deregister b1']);
	});

	it('finds also what the one before it registered after the first look, and deregisters that in the same way', async () => {
		const { clock, registrar, registrations } = open();
		registrations.adopt();
		await clock.advance(100);
		registrar.found = [found('b1', 'connection')];
		await clock.advance(9_900);
		expect(registrations.list()).toMatchObject([{ id: 'b1', phase: 'adopted', holders: 0 }]);
		await clock.advance(10_000);
		expect(registrar.writes).toEqual(['deregister b1']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('goes on with it when its app comes back: no critical between', async () => {
		const { clock, registrar, registrations } = open();
		registrar.found = [found('b1', 'connection')];
		registrations.adopt();
		await settle();
		await registrations.claim({ ...barista, status: 'warning', note: 'queue is long' }, holder());
		await clock.advance(60_000);
		expect(registrar.writes[0]).toBe('register b1 warning');
		expect(new Set(registrar.writes.slice(1))).toEqual(new Set(['report b1 warning']));
	});

	it('keeps alive what is bound to it, and leaves alone what its app has registered first', async () => {
		const { clock, registrar, registrations } = open();
		registrar.found = [found('b1', 'connection'), found('b2', 'sidecar')];
		await registrations.claim(barista, holder());
		registrar.known.set('b2', {
			definition: found('b2', 'sidecar').definition,
			health: { status: 'passing', note: '' },
		});
		registrations.adopt();
		await clock.advance(30_000);
		expect(registrar.known.get('b2')?.health).toEqual({ status: 'warning', note: 'queue is long' });
		expect(registrar.writes.filter((write) => write.startsWith('register'))).toEqual(['register b1 passing']);
	});

	it('takes out what its app deregisters before it is known what there is', async () => {
		const { clock, registrar, registrations } = open();
		registrar.found = [found('b1', 'connection')];
		registrar.error = away;
		registrations.adopt();
		const stop = new AbortController();
		const app = holder();
		const aborted = registrations.withdraw('b1', app, stop.signal);
		const withdrawn = registrations.withdraw('b1', app);
		stop.abort();
		await aborted;
		registrar.error = undefined;
		await clock.advance(250);
		await withdrawn;
		expect(registrar.writes).toEqual(['deregister b1']);
		await registrations.withdraw('b1', app);
	});

	it('what is registered while a deregistration of something unknown waits stays: it is the later word', async () => {
		const { registrar, registrations } = open();
		const app = holder();
		const withdrawn = registrations.withdraw('b1', app);
		const reply = await registrations.claim(barista, app);
		await withdrawn;
		expect(reply.state).toBe('registered');
		expect(registrar.writes).toEqual(['register b1 passing']);
		expect(registrations.count).toBe(1);
		registrations.close();
	});

	it('asks until the registry answers', async () => {
		const { clock, registrar, registrations, events } = open();
		registrar.found = [found('b1', 'connection')];
		registrar.error = away;
		registrations.adopt();
		await clock.advance(250);
		expect(events).toMatchObject([
			{ type: 'registrations-unknown', isNews: true },
			{ type: 'registrations-unknown', isNews: false },
		]);
		registrar.error = undefined;
		await clock.advance(500);
		expect(registrations.count).toBe(1);
		registrations.close();
		expect(clock.pendingTimers).toBe(0);
	});
});

describe('a source in an app that ends', () => {
	it('deregisters everything, refuses the next, and tells the holders', async () => {
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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

	it('takes out what an app drains until the very end', async () => {
		const { registrar, registrations } = open();
		const app = holder();
		await registrations.claim(barista, app);
		await registrations.leave();
		await registrations.withdraw('b1', app);
		expect(registrar.known.size).toBe(0);
	});

	it('takes out what its app has left, and what was bound to it', async () => {
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
		const { clock, registrar, registrations } = open();
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
