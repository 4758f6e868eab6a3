import { SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { ScriptedBackend } from '../test/scripted-backend.ts';
import { BackendSource } from './backend-source.ts';
import type { Backend } from './foundation/backend.ts';

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
		const clock = new FakeClock();
		const source = new BackendSource({ backend, clock });
		backend.fail(away);
		await expect(source.probe()).rejects.toBe(away);
		backend.error = undefined;
		expect(await source.probe()).toBe('live');
		backend.fail(away);
		await clock.advance(1000);
		expect(await source.probe()).toBe('last-known-good');
		Object.assign(backend, { probe: () => Promise.reject(away) });
		expect(await source.probe()).toBe('last-known-good');
	});

	it('of whom the list is denied is well if something else was answered, or may be, and is said to be', async () => {
		const backend = new ScriptedBackend('consul');
		const denied = new SpockError('ACL_DENIED', 'denied');
		const events: string[] = [];
		const source = new BackendSource({ backend, onEvent: ({ type }) => events.push(type) });
		backend.fail(denied);
		await expect(source.probe()).rejects.toBe(denied);
		Object.assign(backend, { mayRead: () => Promise.resolve(false) });
		await expect(source.probe()).rejects.toBe(denied);
		expect(events).not.toContain('list-denied');
		Object.assign(backend, { mayRead: () => Promise.resolve(true) });
		expect(await source.probe()).toBe('live');
		Object.assign(backend, { mayRead: () => Promise.resolve(false) });
		source.watch({ service: 'barista' }, { next: () => undefined });
		for (const observer of backend.observers) observer.answered([]);
		expect(await source.probe()).toBe('live');
		expect(events.filter((type) => type === 'list-denied')).toHaveLength(2);
	});
});
