import type { RegistrationReply } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, openRegistrations } from '../../test/open-registrations.ts';
import type { OwnedInstance } from '../foundation/registrar.ts';
import type { RegistrationHolder } from './registration-holders.ts';

const GRACE_MS = 10_000;
const moved = { ...barista, host: '6.6.6.6' };
const denied = { code: 'ACL_DENIED', message: 'b1 is registered by another app; only that app may change it' };

interface Holder extends RegistrationHolder {
	readonly seen: string[];
}

/** A connection with the token of an app; every one is of another client. */
function holder(app?: string): Holder {
	const seen: string[] = [];
	const told = ({ state, error }: RegistrationReply) => seen.push(error === null ? state : `${state}: ${error}`);
	return { app, identity: `client ${Math.random()}`, seen, told };
}

function open() {
	const site = openRegistrations({ reconnectGraceMs: GRACE_MS });
	return { ...site, known: () => site.registrar.known.get('b1') };
}

type Site = ReturnType<typeof open>;

/** All that an app may try with the instance of another. */
const ATTACKS: readonly (readonly [string, (site: Site, by: Holder) => Promise<unknown>])[] = [
	['registers it as it is', async ({ registrations }, by) => registrations.claim(barista, by)],
	['moves it', async ({ registrations }, by) => registrations.claim(moved, by)],
	[
		'makes it one of its own service',
		async ({ registrations }, by) => registrations.claim({ ...barista, service: 'x' }, by),
	],
	['reports on it', async ({ registrations }, by) => registrations.report({ id: 'b1', status: 'critical' }, by)],
	['deregisters it', async ({ registrations }, by) => registrations.withdraw('b1', by)],
];

/** Where the app that has registered it may be meanwhile. */
const STATES: readonly (readonly [string, (site: Site, owner: Holder) => Promise<void>])[] = [
	['connected', async () => undefined],
	[
		'away',
		async ({ registrations }, owner) => {
			registrations.abandon(owner);
			await settle();
		},
	],
	[
		'about to be given up',
		async ({ registrations, clock }, owner) => {
			registrations.abandon(owner);
			await clock.advance(GRACE_MS - 1);
		},
	],
];

/** The same, in words that may not count for more than they are. */
const STRANGERS: readonly (readonly [string, () => Holder])[] = [
	['another app', () => holder('till')],
	['a client without a token', () => holder()],
	['an app with a name like it', () => holder('Barista')],
];

describe.each(STATES)('while the app that has registered an instance is %s', (_where, bring) => {
	describe.each(STRANGERS)('%s', (_who, stranger) => {
		it.each(ATTACKS)('that %s is refused, and changes nothing', async (_how, attack) => {
			const site = open();
			const owner = holder('barista');
			await site.registrations.claim(barista, owner);
			await bring(site, owner);
			const before = site.known();
			await expect(attack(site, stranger())).rejects.toMatchObject(denied);
			await settle();
			expect(site.known()).toEqual(before);
			// Another client of the same app has it all.
			await site.registrations.claim(barista, holder('barista'));
			expect(site.known()?.health.status).toBe('passing');
		});
	});
});

it('is free once it is gone', async () => {
	const { registrations, registrar, clock, known } = open();
	const owner = holder('barista');
	await registrations.claim(barista, owner);
	registrations.abandon(owner);
	await clock.advance(GRACE_MS);
	expect(registrar.known.size).toBe(0);
	await registrations.claim(moved, holder('till'));
	expect(known()?.definition).toMatchObject({ host: '6.6.6.6', app: 'till' });
});

it('the app is in the list', async () => {
	const { registrations } = open();
	await registrations.claim(barista, holder('barista'));
	await registrations.claim({ ...barista, id: 'b2' }, holder());
	const [first, second] = registrations.list();
	expect(first).toMatchObject({ id: 'b1', app: 'barista' });
	expect(second).not.toHaveProperty('app');
});

describe('a sidecar that registers for its apps', () => {
	const spock = holder('node');

	it('can tell them apart, and no other sidecar or app can say the same', async () => {
		const site = open();
		await site.registrations.claim({ ...barista, app: 'till' }, spock);
		expect(site.known()?.definition.app).toBe('node/till');
		const others = [
			[spock, 'barista'],
			[spock, undefined],
			[holder('node2'), 'till'],
			[holder('till'), undefined],
			[holder(), 'node/till'],
			[holder(), 'till'],
			[holder('nod'), 'e/till'],
		] as const;
		for (const [by, said] of others) {
			const app = said === undefined ? {} : { app: said };
			const { registrations } = site;
			await expect(async () => registrations.claim({ ...barista, ...app }, by)).rejects.toMatchObject(denied);
			const report = { id: 'b1', status: 'critical', ...app } as const;
			await expect(async () => registrations.report(report, by)).rejects.toMatchObject(denied);
			await expect(registrations.withdraw('b1', by, undefined, said)).rejects.toMatchObject(denied);
		}
		await site.registrations.report({ id: 'b1', status: 'warning', app: 'till' }, spock);
		expect(site.known()?.health.status).toBe('warning');
		await site.registrations.withdraw('b1', spock, undefined, 'till');
		expect(site.known()).toBeUndefined();
	});

	it('a name that is too long with its own is refused', () => {
		const { registrations } = open();
		expect(() => registrations.claim({ ...barista, app: 'x'.repeat(508) }, spock)).toThrow('at most 512 characters');
	});
});

describe('after a restart of the sidecar', () => {
	const foundOf = (app: string | undefined, claimant?: string): OwnedInstance => {
		const bind = 'connection' as const;
		const definition = { ...barista, tags: [], meta: {}, weights: { passing: 1, warning: 1 }, bind, isPartial: true };
		return {
			definition: { ...definition, ...(claimant && { claimant }), ...(app !== undefined && { app }) },
			instance: 'node/b1',
			health: { status: 'passing', note: '' },
		};
	};

	it.each(ATTACKS)('another app that %s is refused', async (_how, attack) => {
		const site = open();
		site.registrar.found = [foundOf('barista')];
		site.registrations.adopt();
		await settle();
		await expect(attack(site, holder('till'))).rejects.toMatchObject(denied);
		await site.registrations.claim(barista, holder('barista'));
		expect(site.known()?.definition.app).toBe('barista');
	});

	it('what another app registers before the registry has answered is never written', async () => {
		const site = open();
		const { registrations, registrar } = site;
		const answer = registrar.holdOwned();
		registrations.adopt();
		const till = holder('till');
		const claim = expect(registrations.claim(moved, till)).rejects.toMatchObject(denied);
		await settle();
		answer([foundOf('barista')]);
		await claim;
		await settle();
		expect(registrar.writes).not.toContainEqual(expect.stringMatching(/^(?:register|deregister)/));
		await registrations.claim(barista, holder('barista'));
		expect(site.known()?.definition).toMatchObject({ app: 'barista' });
	});

	it('nor does another app deregister it by a registration of its own', async () => {
		const site = open();
		const { registrations, registrar } = site;
		const answer = registrar.holdOwned();
		registrations.adopt();
		const till = holder('till');
		registrations.claim(moved, till).catch(() => undefined);
		const withdrawn = expect(registrations.withdraw('b1', till)).rejects.toMatchObject(denied);
		await settle();
		answer([foundOf('barista')]);
		await withdrawn;
		await settle();
		expect(registrar.writes).not.toContainEqual(expect.stringMatching(/^(?:register|deregister)/));
		expect(registrations.list()).toMatchObject([{ id: 'b1', phase: 'adopted', app: 'barista' }]);
	});

	it('one that was registered without an app is that of the app that comes for it first, if its client cannot come back', async () => {
		const site = open();
		site.registrar.found = [foundOf(undefined)];
		site.registrations.adopt();
		await settle();
		await site.registrations.claim(barista, holder('barista'));
		expect(site.known()?.definition.app).toBe('barista');
		await expect(async () => site.registrations.claim(barista, holder('till'))).rejects.toMatchObject(denied);
	});

	it('one whose client may come back stays that of the client', async () => {
		const site = open();
		site.registrar.found = [foundOf(undefined, 'before')];
		site.registrations.adopt();
		await settle();
		await site.registrations.claim(barista, holder('barista'));
		await site.registrations.claim(moved, { identity: 'before', told: () => undefined });
		expect(site.known()?.definition).toMatchObject({ host: '6.6.6.6', claimant: 'before' });
		expect(site.known()?.definition).not.toHaveProperty('app');
	});
});

it('where only named clients may register, one without the token of an app is refused, for any app that it names', async () => {
	const { registrar, registrations } = openRegistrations({ registrationsNamedOnly: true });
	const message = expect.stringContaining('only for clients whose token has a name');
	for (const data of [barista, { ...barista, app: 'till' }]) {
		await expect(async () => registrations.claim(data, holder())).rejects.toMatchObject({
			code: 'ACL_DENIED',
			message,
		});
	}
	await registrations.claim(barista, holder('till'));
	expect(registrar.known.size).toBe(1);
	registrations.close();
});

it('a client without a token keeps what it has, as before there were apps', async () => {
	const { registrations, known } = open();
	const [first, second] = [holder(), holder()];
	await registrations.claim(barista, first);
	await expect(async () => registrations.claim(moved, holder('till'))).rejects.toMatchObject({ code: 'BAD_REQUEST' });
	await registrations.claim(barista, holder('till'));
	expect(known()?.definition).not.toHaveProperty('app');
	await registrations.claim(barista, second);
	await registrations.report({ id: 'b1', status: 'warning' }, first);
	expect(registrations.list()).toMatchObject([{ holders: 3 }]);
});
