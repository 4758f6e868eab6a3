import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeRegistrar } from '../../test/fake-registrar.ts';
import type { RegistrationHolder } from './registration-holders.ts';
import { Registrations } from './registrations.ts';

const barista = { service: 'barista', id: 'b1', port: 8765 };

function open() {
	const clock = new FakeClock();
	const registrations = new Registrations({
		registrar: new FakeRegistrar(),
		owner: 'me',
		clock,
		random: () => 1,
		onEvent: () => undefined,
		ttlMs: 15_000,
		reconnectGraceMs: 10_000,
		deregisterAfterMs: 60_000,
	});
	const told: string[] = [];
	const holder: RegistrationHolder = { told: ({ state }) => told.push(state) };
	return { clock, registrations, holder, told };
}

describe('the end of registrations', () => {
	it('a connection that is lost twice, or has registered nothing, is lost once', async () => {
		const { registrations, holder } = open();
		registrations.abandon(holder);
		await registrations.claim(barista, holder);
		registrations.abandon(holder);
		registrations.abandon(holder);
		await settle();
		expect(registrations.list()).toMatchObject([{ id: 'b1' }]);
		registrations.close();
	});

	it('closed twice is closed once, and leaves no timer; a drain after it is over', async () => {
		const { clock, registrations, holder } = open();
		await registrations.claim(barista, holder);
		registrations.close();
		registrations.close();
		await registrations.drain();
		expect([registrations.list(), clock.pendingTimers]).toEqual([[], 0]);
		registrations.abandon(holder);
	});
});
