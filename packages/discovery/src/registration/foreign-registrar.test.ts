import { type RegistrationReply, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { expect, it } from 'vitest';

import { FakeRegistrar } from '../../test/fake-registrar.ts';
import type { DiscoveryEvent } from '../foundation/discovery-event.ts';
import type { Registrar } from '../foundation/registrar.ts';
import { Registrations } from './registrations.ts';

const barista = { service: 'barista', id: 'b1', port: 8765 };
const FAULT = new TypeError('fetch failed');

/** Registrations at a registry of a third party, whose calls the test can replace by faulty ones, and an app. */
function open() {
	const clock = new FakeClock();
	const registrar: Registrar = new FakeRegistrar();
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
	});
	const told: RegistrationReply['state'][] = [];
	const app = { told: ({ state }: RegistrationReply) => void told.push(state) };
	return { clock, registrar, registrations, events, told, app };
}

const faults: readonly (readonly [string, () => never])[] = [
	['rejects with a plain TypeError', () => Promise.reject(FAULT) as never],
	[
		'throws one',
		() => {
			throw FAULT;
		},
	],
];

it.each(faults)('an app is pending while the registrar %s, and registered when it is mended', async (_how, fail) => {
	const { clock, registrar, registrations, events, app, told } = open();
	const { register, report } = registrar;
	registrar.register = fail;
	await expect(registrations.claim(barista, app)).resolves.toMatchObject({ state: 'pending', instance: null });
	registrar.register = register;
	await clock.advance(5000);
	registrar.report = fail;
	await clock.advance(5000);
	registrar.report = report;
	await clock.advance(5000);
	expect(told).toEqual(['pending', 'registered', 'pending', 'registered']);
	expect(events).toContainEqual(
		expect.objectContaining({ type: 'registration', error: expect.objectContaining({ cause: FAULT }) }),
	);
	registrations.close();
});

const strangeAnswers: readonly (readonly [string, () => never])[] = [
	['answers with no list', () => Promise.resolve(undefined) as never],
	['lists something other than instances', () => Promise.resolve([{ id: 'b1' }]) as never],
];

it.each([...faults, ...strangeAnswers])(
	'what was there before is asked for again where the registrar %s',
	async (_how, fail) => {
		const { clock, registrar, registrations, events, app } = open();
		const { owned } = registrar;
		registrar.owned = fail;
		registrations.adopt();
		await settle();
		expect(events).toMatchObject([{ type: 'registrations-unknown', isNews: true, error: { code: 'INTERNAL' } }]);
		const claimed = registrations.claim(barista, app);
		await clock.advance(300);
		await expect(claimed).resolves.toMatchObject({ state: 'pending' });
		registrar.owned = owned;
		await clock.advance(5000);
		expect(registrations.list()).toMatchObject([{ id: 'b1', state: 'registered' }]);
		registrations.close();
	},
);

it('what the registrar does not know any more is taken out, whether it says so or not', async () => {
	const { clock, registrar, registrations, app } = open();
	await registrations.claim(barista, app);
	let calls = 0;
	registrar.deregister = () => {
		// A loop without a wait would never end: the test must.
		if (++calls > 3) return Promise.resolve();
		return Promise.reject(new SpockError('NO_SUCH_SERVICE', 'unknown id'));
	};
	await registrations.withdraw('b1', app);
	expect(calls).toBe(1);
	expect(registrations.count).toBe(0);
	expect(clock.pendingTimers).toBe(0);
});
