import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { ScriptedBackend } from '../test/scripted-backend.ts';
import type { Backend } from './backend.ts';
import { BackendSource } from './backend-source.ts';

const away = new SpockError('UNAVAILABLE', 'away');

describe('the probe of a BackendSource', () => {
	it('asks the backend’s own probe, and not for a list that there may be none of', async () => {
		const backend: Backend = new ScriptedBackend('dns');
		backend.list = () => Promise.reject(new SpockError('UNKNOWN_FUNC', 'it cannot list'));
		backend.probe = () => Promise.resolve();
		expect(await new BackendSource({ backend }).probe()).toBe('live');
		backend.probe = () => Promise.reject(away);
		await expect(new BackendSource({ backend }).probe()).rejects.toBe(away);
	});

	it('without one, or when it fails, a list will do, and one that is known while the registry is away', async () => {
		const backend = new ScriptedBackend('consul', [{ name: 'barista', tags: [] }]);
		const source = new BackendSource({ backend });
		backend.fail(away);
		await expect(source.probe()).rejects.toBe(away);
		backend.error = undefined;
		expect(await source.probe()).toBe('live');
		backend.fail(away);
		expect(await source.probe()).toBe('last-known-good');
		Object.assign(backend, { probe: () => Promise.reject(away) });
		expect(await source.probe()).toBe('last-known-good');
	});
});
