import type { RegistrationReply, ServiceRegistrar, ServiceSource } from '@spock/protocol';
import { settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { barista, reply } from '../../test/registering-sidecar.ts';
import { createDiplomat } from '../connect.ts';

describe('register in direct mode', () => {
	const source: ServiceSource = {
		name: 'list',
		peek: () => undefined,
		get: () => Promise.reject(new Error('not asked')),
		watch: () => ({ stop: () => undefined }),
		list: () => Promise.reject(new Error('not asked')),
		close: () => Promise.resolve(),
	};

	it('a source that can register does', async () => {
		const calls: string[] = [];
		const registrar: ServiceRegistrar = {
			register: async ({ service }, listener) => {
				calls.push(`register ${service}`);
				listener(reply({ state: 'pending', error: 'told early' }));
				return reply();
			},
			report: async ({ status }) => {
				calls.push(`report ${status}`);
				return reply();
			},
			deregister: async ({ id }) => {
				calls.push(`deregister ${id}`);
				return null;
			},
		};
		const diplomat = createDiplomat({ source: { ...source, registrar } });
		const registration = await diplomat.register(barista);
		expect(registration.error).toBe('told early');
		await registration.report('critical');
		await diplomat.drain();
		expect(calls).toEqual(['register barista', 'report critical', 'deregister b1']);
	});

	it('a drain waits for what is being registered, and deregisters it', async () => {
		const calls: string[] = [];
		let answer: (registered: RegistrationReply) => void = () => undefined;
		const registrar: ServiceRegistrar = {
			register: () =>
				new Promise((resolve) => {
					answer = resolve;
				}),
			report: () => Promise.reject(new Error('not asked')),
			deregister: async ({ id }) => {
				calls.push(`deregister ${id}`);
				return null;
			},
		};
		const diplomat = createDiplomat({ source: { ...source, registrar } });
		const pending = diplomat.register(barista);
		const drained = diplomat.drain();
		await settle();
		answer(reply());
		await drained;
		expect([(await pending).state, calls]).toEqual(['deregistered', ['deregister b1']]);
	});

	it('a source that only finds services rejects it', async () => {
		const diplomat = createDiplomat({ source });
		await expect(diplomat.register(barista)).rejects.toMatchObject({
			code: 'UNKNOWN_FUNC',
			message: expect.stringContaining('only finds services'),
		});
		await diplomat.drain();
	});
});
