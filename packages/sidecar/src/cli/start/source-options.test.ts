import { createLocalBackend } from '@spock/discovery';
import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../settings/resolve-settings.ts';
import { createRegistrations, sourceOptionsOf } from './discovery-options.ts';

const given = (env: Readonly<Record<string, string>>) => resolveSettings({ flags: {}, env });

describe('the settings of the cache', () => {
	it('reach the source as they were given, 0 too, and nothing else does', () => {
		expect(sourceOptionsOf(given({}), 'consul')).toEqual({});
		const env = {
			SPOCK_IDLE_TTL_MS: '0',
			SPOCK_STALE_MAX_MS: '5000',
			SPOCK_EMPTY_HOLD_MS: '0',
			SPOCK_PANIC_THRESHOLD: '0.5',
			SPOCK_ENTRIES_MAX: '7',
			SPOCK_KEY_ENTRIES_MAX: '8',
			SPOCK_STATE_DIR: '/var/lib/spock',
		};
		expect(sourceOptionsOf(given(env), 'local')).toEqual({
			idleTtlMs: 0,
			staleMaxMs: 5000,
			emptyHoldMs: 0,
			panicThreshold: 0.5,
			entriesMax: 7,
			keyEntriesMax: 8,
			stateDir: '/var/lib/spock',
			stateScope: 'local',
		});
	});
});

describe('the settings of registrations', () => {
	it('bound them in all and for each connection, and name what is wrong', async () => {
		const backend = await createLocalBackend();
		const make = (env: Readonly<Record<string, string>>) =>
			createRegistrations(given(env), backend, { path: '/run/spock.sock' }, () => undefined);
		const data = { service: 'barista', port: 80 };
		const limits = { SPOCK_REGISTRATIONS_MAX: '2', SPOCK_REGISTRATIONS_PER_HOLDER_MAX: '1' };
		const registrations = make(limits);
		const holders = [1, 2, 3].map(() => ({ told: () => undefined }));
		const claim = async (holder: number, id: string) =>
			registrations?.claim({ ...data, id }, holders[holder] as (typeof holders)[0], {});
		await claim(0, 'a');
		await expect(claim(0, 'b')).rejects.toMatchObject({ code: 'OVERLOADED' });
		await claim(1, 'b');
		await expect(claim(2, 'c')).rejects.toMatchObject({ code: 'OVERLOADED' });
		expect(() => make({ SPOCK_REGISTRATIONS_PER_HOLDER_MAX: '0' })).toThrow(
			'SPOCK_REGISTRATIONS_PER_HOLDER_MAX must be',
		);
		expect(() => make({ SPOCK_REGISTRATION_TTL_MS: '5' })).toThrow('SPOCK_REGISTRATION_TTL_MS must be');
		registrations?.close();
		await backend.close();
	});
});
