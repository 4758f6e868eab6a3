import { type RegistrationReply, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeRegistrar } from '../../test/fake-registrar.ts';
import type { DiscoveryEvent } from '../discovery-event.ts';
import type { OwnedInstance } from './registrar.ts';
import type { RegistrationHolder } from './registration-context.ts';
import { Registrations } from './registrations.ts';
import type { RegistrationsOptions } from './registrations-options.ts';

const away = new SpockError('UNAVAILABLE', 'refused');
const denied = new SpockError('ACL_DENIED', 'denied');
const barista = { service: 'barista', id: 'b1', port: 8765 };

interface Holder extends RegistrationHolder {
	readonly seen: string[];
}

function holder(): Holder {
	const seen: string[] = [];
	return { seen, told: ({ id, state }: RegistrationReply) => seen.push(`${id} ${state}`) };
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
		await registrations.claim({ ...barista }, holder());
		expect(registrar.writes).toHaveLength(1);
		await registrations.claim({ ...barista, tags: ['v2'] }, app);
		expect(registrar.writes).toEqual(['register b1 passing', 'register b1 passing']);
		expect(registrar.known.get('b1')?.definition.tags).toEqual(['v2']);
	});

	it('reports itself; a report that says nothing new is no write', async () => {
		const { registrar, registrations } = open();
		await registrations.claim({ ...barista, status: 'critical', note: 'warming up' }, holder());
		expect(registrar.known.get('b1')?.health).toEqual({ status: 'critical', note: 'warming up' });
		expect(await registrations.report({ id: 'b1', status: 'passing' })).toMatchObject({ state: 'registered' });
		await registrations.report({ id: 'b1', status: 'passing' });
		expect(registrar.writes).toEqual(['register b1 critical', 'report b1 passing']);
		expect(() => registrations.report({ id: 'b2', status: 'passing' })).toThrow('register it first');
	});

	it('is refused what the registry refuses, and forgotten', async () => {
		const { registrar, registrations } = open();
		registrar.error = denied;
		await expect(registrations.claim(barista, holder())).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect(registrations.count).toBe(0);
		registrar.error = undefined;
		expect(await registrations.claim(barista, holder())).toMatchObject({ state: 'registered' });
	});

	it('may not take the id of another service that somebody holds, nor go past the limits', async () => {
		const { registrations } = open({ registrationsMax: 3, registrationsPerHolderMax: 2 });
		const app = holder();
		await registrations.claim(barista, app);
		expect(() => registrations.claim({ ...barista, service: 'waiter' }, holder())).toThrow(
			'registered for the service',
		);
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
		await registrations.withdraw('b1');
		expect(registrar.known.size).toBe(0);
	});
});

describe('deregistering', () => {
	it('resolves when the registry knows; an id that is not registered is no error', async () => {
		const { registrar, registrations } = open();
		const [app, other] = [holder(), holder()];
		await registrations.claim(barista, app);
		await registrations.claim(barista, other);
		registrar.holds = true;
		let done = false;
		const withdrawn = registrations.withdraw('b1').then(() => {
			done = true;
		});
		await settle();
		expect(done).toBe(false);
		expect(other.seen.at(-1)).toBe('b1 deregistered');
		registrar.release();
		await withdrawn;
		await registrations.withdraw('b1');
		expect(registrations.count).toBe(0);
	});

	it('ends what others hold as well: none of them keeps it alive later', async () => {
		const { registrar, registrations } = open();
		await registrations.claim(barista, holder());
		registrar.holds = true;
		void registrations.withdraw('b1');
		const again = holder();
		const claimed = registrations.claim(barista, again);
		await settle();
		registrar.holds = false;
		registrar.release();
		await claimed;
		registrations.abandon(again);
		await settle();
		expect(registrar.known.get('b1')?.health.status).toBe('critical');
	});

	it('never overtakes the write before it', async () => {
		const { registrar, registrations } = open();
		registrar.holds = true;
		const claimed = registrations.claim(barista, holder());
		const withdrawn = registrations.withdraw('b1');
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
		await registrations.claim(barista, holder());
		registrar.holds = true;
		const withdrawn = registrations.withdraw('b1');
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
		await registrations.claim(barista, holder());
		registrar.error = away;
		const stop = new AbortController();
		const withdrawn = registrations.withdraw('b1', stop.signal);
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
		await registrations.claim(barista, holder());
		registrar.error = denied;
		await expect(registrations.withdraw('b1')).rejects.toMatchObject({ code: 'ACL_DENIED' });
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
		expect(await registrations.report({ id: 'b1', status: 'warning' }).then(({ state }) => state)).toBe('pending');
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
		const slow = registrations.report({ id: 'b1', status: 'warning' });
		await clock.advance(4000);
		expect(await slow).toMatchObject({ state: 'pending', error: 'the registry has not answered yet' });
		registrar.release(denied);
		await settle();
		expect(app.seen).toEqual(['b1 registered', 'b1 pending']);
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
		const aborted = registrations.withdraw('b1', stop.signal);
		const withdrawn = registrations.withdraw('b1');
		stop.abort();
		await aborted;
		registrar.error = undefined;
		await clock.advance(250);
		await withdrawn;
		expect(registrar.writes).toEqual(['deregister b1']);
		await registrations.withdraw('b1');
	});

	it('asks until the registry answers', async () => {
		const { clock, registrar, registrations, events } = open();
		registrar.found = [found('b1', 'connection')];
		registrar.error = away;
		registrations.adopt();
		await clock.advance(250);
		expect(events.map(({ type }) => type)).toEqual(['registrations-unknown', 'registrations-unknown']);
		registrar.error = undefined;
		await clock.advance(500);
		expect(registrations.count).toBe(1);
		registrations.close();
		expect(clock.pendingTimers).toBe(0);
	});
});

describe('a sidecar that ends', () => {
	it('deregisters everything, refuses the next, and tells the apps to wait for another one', async () => {
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
		await registrations.withdraw('b1');
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
