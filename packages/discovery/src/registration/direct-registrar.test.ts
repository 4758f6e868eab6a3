import { type RegistrationReply, SpockError } from '@spock/protocol';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { FakeRegistrar } from '../../test/fake-registrar.ts';
import { directRegistrar } from './direct-registrar.ts';
import { Registrations } from './registrations.ts';

function open() {
	const clock = new FakeClock();
	const registrar = new FakeRegistrar();
	const registrations = new Registrations({ registrar, owner: 'app', clock });
	const told: RegistrationReply[] = [];
	const direct = directRegistrar(registrations, clock);
	const register = (id = 'b1') => direct.register({ service: 'barista', id, port: 80 }, (reply) => told.push(reply));
	return { clock, registrar, registrations, direct, told, register };
}

describe('registering without a sidecar', () => {
	it('checks what it is given as the wire does', async () => {
		const { direct } = open();
		const wrong = direct.register({ service: 'barista', port: 0 }, () => undefined);
		await expect(wrong).rejects.toMatchObject({ code: 'BAD_REQUEST', details: { path: 'port' } });
		await expect(direct.deregister({ id: '..' })).rejects.toMatchObject({ details: { path: 'id' } });
		await expect(direct.report({ id: 'b1', status: 'passing' })).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
	});

	it('tells of what changes by itself, and nothing more once it is taken out', async () => {
		const { clock, registrar, registrations, direct, told, register } = open();
		await register();
		registrar.error = new SpockError('UNAVAILABLE', 'refused');
		await clock.advance(5000);
		expect(told.at(-1)).toMatchObject({ state: 'pending', error: 'refused' });
		registrar.error = undefined;
		await clock.advance(10_000);
		expect(told.at(-1)).toMatchObject({ state: 'registered', error: null });
		const count = told.length;
		await direct.deregister({ id: 'b1' });
		expect(registrar.known.size).toBe(0);
		// Who takes it out is answered.
		expect(told).toHaveLength(count);
		registrations.close();
		expect(clock.pendingTimers).toBe(0);
	});

	it('ends a wait at its deadline and at its abort, and tries on', async () => {
		const { clock, registrar, direct, register } = open();
		await register();
		registrar.holds = true;
		const late = expect(direct.deregister({ id: 'b1' }, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		const stop = new AbortController();
		const aborted = expect(direct.deregister({ id: 'b1' }, { signal: stop.signal })).rejects.toMatchObject({
			code: 'ABORTED',
		});
		await clock.advance(100);
		stop.abort();
		await Promise.all([late, aborted]);
		await expect(direct.deregister({ id: 'b1' }, { signal: AbortSignal.abort() })).rejects.toMatchObject({
			code: 'ABORTED',
		});
		registrar.release();
		await settle();
		expect(registrar.known.size).toBe(0);
	});
});
