import { type RegistrationReply, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeRegistrar } from '../../test/fake-registrar.ts';
import type { OwnedInstance } from '../foundation/registrar.ts';
import type { RegistrationHolder } from './registration-holders.ts';
import { Registrations } from './registrations.ts';

const GRACE_MS = 10_000;
const barista = { service: 'barista', id: 'b1', port: 8765 };
const moved = { ...barista, host: '6.6.6.6' };

interface Holder extends RegistrationHolder {
	readonly seen: string[];
}

/** A connection; of a client that can be known again, with an identity. */
function holder(identity?: string, id?: number): Holder {
	const seen: string[] = [];
	const told = ({ state, error }: RegistrationReply) => seen.push(error === null ? state : `${state}: ${error}`);
	return { identity, seen, told, ...(id !== undefined && { id }) };
}

function open() {
	const clock = new FakeClock();
	const registrar = new FakeRegistrar();
	const registrations = new Registrations({
		registrar,
		owner: 'me',
		clock,
		random: () => 1,
		ttlMs: 15_000,
		reconnectGraceMs: GRACE_MS,
	});
	const status = (): string | undefined => registrar.known.get('b1')?.health.status;
	const host = (): string | undefined => registrar.known.get('b1')?.definition.host;
	return { clock, registrar, registrations, status, host };
}

/** As a sidecar before this one left it. */
function found(claimant: string | undefined): OwnedInstance {
	const bind = 'connection' as const;
	const definition = { ...barista, tags: [], meta: {}, weights: { passing: 1, warning: 1 }, bind, isPartial: true };
	return {
		definition: { ...definition, ...(claimant !== undefined && { claimant }) },
		instance: 'node/b1',
		health: { status: 'passing', note: '' },
	};
}

describe('two workers that hold one registration', () => {
	async function two() {
		const site = open();
		const [first, second] = [holder('one'), holder('two')];
		await site.registrations.claim(barista, first);
		await site.registrations.claim({ ...barista }, second);
		return { ...site, first, second };
	}

	it('an id that differs in case alone is refused, and so is a default id that another service has', async () => {
		const { registrations } = open();
		await registrations.claim(barista, holder('a'));
		await expect(async () => registrations.claim({ ...barista, id: 'B1' }, holder('b'))).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			message: 'the id B1 differs from b1, which is registered, in case alone: the registry takes both for one',
		});
		const client = holder('c');
		await registrations.claim({ service: 'orders', host: 'eu-db.local', port: 80 }, client);
		const other = { service: 'orders-eu', host: 'db.local', port: 80 };
		await expect(async () => registrations.claim(other, client)).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			message: 'the default id orders-eu-db.local-80 is that of an instance of orders already: register with an id',
		});
		await registrations.claim({ ...other, id: 'orders-eu-1' }, client);
	});

	it('one that drains gives up its own claim; with the last one it is out', async () => {
		const { registrar, registrations, status, first, second } = await two();
		await registrations.withdraw('b1', first);
		expect(status()).toBe('passing');
		expect(registrations.list()).toMatchObject([{ phase: 'held', holders: 1 }]);
		expect(second.seen).toEqual([]);
		await registrations.withdraw('b1', second);
		expect(registrar.known.size).toBe(0);
	});

	it('it is as well as the best of them says', async () => {
		const { registrations, status, first, second } = await two();
		await registrations.report({ id: 'b1', status: 'critical', note: 'no database' }, first);
		expect(status()).toBe('passing');
		await registrations.report({ id: 'b1', status: 'warning' }, second);
		expect(status()).toBe('warning');
		await registrations.report({ id: 'b1', status: 'critical' }, second);
		expect(status()).toBe('critical');
		await registrations.report({ id: 'b1', status: 'passing' }, first);
		expect(status()).toBe('passing');
	});

	it('the word of one that has left does not count any more', async () => {
		const { registrations, status, first, second } = await two();
		await registrations.report({ id: 'b1', status: 'critical' }, first);
		registrations.abandon(second);
		await settle();
		expect(status()).toBe('critical');
	});

	it('what they say is in the list, with the reason of the one that counts', async () => {
		const { registrations, first, second } = await two();
		await registrations.report({ id: 'b1', status: 'warning', note: 'slow' }, first);
		await registrations.report({ id: 'b1', status: 'warning', note: 'slower' }, second);
		expect(registrations.list()).toMatchObject([{ status: 'warning', note: 'slower', holders: 2 }]);
	});

	it('one that is silent does not count, until it is heard again', async () => {
		const { registrar, registrations, status, first, second } = await two();
		registrations.silence(first, 'silent for 30 s');
		await settle();
		expect(status()).toBe('passing');
		registrations.silence(second, 'silent for 31 s');
		await settle();
		expect(registrar.known.get('b1')?.health).toEqual({ status: 'critical', note: 'silent for 31 s' });
		registrations.silence(first, undefined);
		await settle();
		expect(status()).toBe('passing');
	});
});

describe('two connections of one client', () => {
	it('are one holder: the newest speaks for it, also where the older one was never seen to end', async () => {
		const { registrations, status } = open();
		const [dead, alive] = [holder('app'), holder('app')];
		await registrations.claim(barista, dead);
		await registrations.claim({ ...barista, status: 'critical' }, alive);
		expect(status()).toBe('critical');
		expect(registrations.list()).toMatchObject([{ holders: 1 }]);
		registrations.abandon(dead);
		expect(registrations.list()).toMatchObject([{ phase: 'held', holders: 1 }]);
	});

	it('what it is told to end on the next connection ends, although it was not registered there', async () => {
		const { registrar, registrations } = open();
		const before = holder('app');
		await registrations.claim(barista, before);
		registrations.abandon(before);
		await registrations.withdraw('b1', holder('app'));
		expect(registrar.known.size).toBe(0);
	});
});

describe('what another client has registered', () => {
	it.each([
		['with a secret', 'app'],
		['of a client without one', undefined],
	])('%s: nobody else may move it, report on it or take it out while it is there', async (_, identity) => {
		const { registrar, registrations, status, host } = open();
		const app = holder(identity);
		await registrations.claim(barista, app);
		const stranger = holder('stranger');
		expect(() => registrations.claim(moved, stranger)).toThrow('give this instance its own id');
		expect(() => registrations.claim({ ...barista, service: 'waiter' }, stranger)).toThrow('for the service barista');
		expect(() => registrations.report({ id: 'b1', status: 'critical' }, stranger)).toThrow('another client');
		await expect(registrations.withdraw('b1', stranger)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect([host(), status(), app.seen]).toEqual([undefined, 'passing', ['registered']]);
		expect(registrar.writes).toHaveLength(1);
	});

	it('one that joined it may not move it either, nor when the first one is away for a moment', async () => {
		const { registrations, host } = open();
		const app = holder('app');
		const [joined, other] = [holder('joined'), holder('other')];
		await registrations.claim(barista, app);
		await registrations.claim(barista, joined);
		await registrations.claim(barista, other);
		expect(() => registrations.claim(moved, joined)).toThrow('give this instance its own id');
		registrations.abandon(app);
		expect(() => registrations.claim(moved, joined)).toThrow('give this instance its own id');
		expect(host()).toBeUndefined();
	});

	it('its own client may change it, whoever else holds it', async () => {
		const { registrations, host } = open();
		const app = holder('app');
		await registrations.claim(barista, app);
		await registrations.claim(barista, holder('worker'));
		await registrations.claim({ ...barista, host: '1.2.3.4' }, holder('app'));
		expect(host()).toBe('1.2.3.4');
	});

	it('while it is away, it is not for others to end; its place can be taken, and it gets that back', async () => {
		const { registrations, host } = open();
		const app = holder('app');
		await registrations.claim(barista, app);
		registrations.abandon(app);
		const stranger = holder('stranger');
		await expect(registrations.withdraw('b1', stranger)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		expect(() => registrations.report({ id: 'b1', status: 'passing' }, stranger)).toThrow('another client');
		await registrations.claim(moved, stranger);
		expect(host()).toBe('6.6.6.6');
		await registrations.claim(barista, holder('app'));
		expect(host()).toBeUndefined();
		expect(stranger.seen.at(-1)).toBe('deregistered: the client that registered this id is back');
		expect(registrations.list()).toMatchObject([{ holders: 1 }]);
		expect(() => registrations.claim(moved, stranger)).toThrow('give this instance its own id');
	});

	it('one that has not come back within the grace has lost it to those who hold it', async () => {
		const { clock, registrar, registrations, host } = open();
		const app = holder('app');
		await registrations.claim(barista, app);
		registrations.abandon(app);
		const next = holder('next');
		await registrations.claim(barista, next);
		expect(registrar.known.get('b1')?.definition.claimant).toBe('app');
		await clock.advance(GRACE_MS + 5000);
		// A sidecar that comes after this one must know whose it is.
		expect(registrar.known.get('b1')?.definition.claimant).toBe('next');
		expect(() => registrations.claim(moved, holder('app'))).toThrow('give this instance its own id');
		await registrations.claim({ ...barista, host: '1.2.3.4' }, next);
		expect(host()).toBe('1.2.3.4');
	});

	it("one that was drained is anybody's", async () => {
		const { registrations, host } = open();
		const app = holder('app');
		await registrations.claim(barista, app);
		await registrations.withdraw('b1', app);
		await registrations.claim(moved, holder('stranger'));
		expect(host()).toBe('6.6.6.6');
	});

	it('what outlives its client is for others to report on and to end once nobody holds it', async () => {
		const { registrar, registrations, status } = open();
		const app = holder('app');
		await registrations.claim({ ...barista, bind: 'sidecar' }, app);
		const script = holder();
		await expect(registrations.withdraw('b1', script)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		registrations.abandon(app);
		await registrations.report({ id: 'b1', status: 'warning' }, script);
		expect(status()).toBe('warning');
		await registrations.withdraw('b1', script);
		expect(registrar.known.size).toBe(0);
	});
});

describe('a sidecar that comes after another one', () => {
	it('knows whose it was: who came first with something else gives way', async () => {
		const { registrar, registrations, host } = open();
		registrar.found = [found('app')];
		registrations.adopt();
		await settle();
		const stranger = holder('stranger');
		await expect(registrations.withdraw('b1', stranger)).rejects.toMatchObject({ code: 'ACL_DENIED' });
		await registrations.claim(moved, stranger);
		await registrations.claim(barista, holder('app'));
		expect(host()).toBeUndefined();
		expect(stranger.seen.at(-1)).toContain('deregistered');
	});

	it('takes the workers of one app in any order, and tells none of them that it has ended', async () => {
		const { registrar, registrations } = open();
		registrar.found = [found('one')];
		registrations.adopt();
		await settle();
		const [one, two] = [holder('one'), holder('two')];
		await registrations.claim(barista, two);
		await registrations.claim(barista, one);
		expect([...one.seen, ...two.seen].filter((told) => told !== 'registered')).toEqual([]);
		expect(registrations.list()).toMatchObject([{ holders: 2 }]);
		expect(registrar.writes).toEqual(['register b1 passing']);
	});

	it('of an earlier version, which wrote nobody down: who comes first has it', async () => {
		const { registrar, registrations } = open();
		registrar.found = [found(undefined)];
		registrations.adopt();
		await settle();
		await registrations.claim(barista, holder('app'));
		expect(registrar.known.get('b1')?.definition.claimant).toBe('app');
	});
});

it('a stranger that comes before it is known who the owner is holds it until the owner is back', async () => {
	const { registrar, registrations, host } = open();
	registrar.found = [found('mine')];
	registrations.adopt();
	const [stranger, owner] = [holder('other'), holder('mine')];
	await registrations.claim(moved, stranger);
	await registrations.claim(barista, owner);
	expect(host()).toBeUndefined();
	expect(stranger.seen).toContain('deregistered: the client that registered this id is back');
	await expect(registrations.withdraw('b1', stranger)).rejects.toMatchObject({ code: 'ACL_DENIED' });
	await registrations.withdraw('b1', owner);
	expect(registrar.known.has('b1')).toBe(false);
	registrations.close();
});

it('nothing is written before it is known what an earlier sidecar left', async () => {
	const { clock, registrar, registrations } = open();
	registrar.error = new SpockError('UNAVAILABLE', 'away');
	registrations.adopt();
	const reply = await registrations.claim(barista, holder('mine'));
	expect(reply).toMatchObject({ state: 'pending', error: 'away' });
	expect(registrar.writes).toEqual([]);
	registrar.error = undefined;
	await clock.advance(2000);
	expect(registrar.writes).toEqual(['register b1 passing']);
	registrations.close();
});

describe('an old connection of a client that has come back on a newer one', () => {
	it.each<[string, (site: ReturnType<typeof open>, old: Holder) => Promise<unknown>]>([
		['registers', ({ registrations }, old) => registrations.claim(moved, old)],
		['reports', ({ registrations }, old) => registrations.report({ id: 'b1', status: 'critical' }, old)],
		['deregisters', ({ registrations }, old) => registrations.withdraw('b1', old)],
	])('%s: that was said before, and changes nothing, nor does its end', async (_, say) => {
		const site = open();
		const [old, newer] = [holder('app', 1), holder('app', 2)];
		await site.registrations.claim(barista, old);
		await site.registrations.claim({ ...barista, status: 'warning' }, newer);
		await say(site, old);
		site.registrations.abandon(old);
		await site.clock.advance(GRACE_MS * 2);
		expect([site.status(), site.host()]).toEqual(['warning', undefined]);
		await site.registrations.report({ id: 'b1', status: 'passing' }, newer);
		await settle();
		expect(site.status()).toBe('passing');
	});
});
