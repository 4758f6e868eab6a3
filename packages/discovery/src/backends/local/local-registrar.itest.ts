import type { ServiceInstance } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import type { InstanceDefinition } from '../../foundation/registrar.ts';
import { createLocalBackend } from './local-backend.ts';

const services = {
	barista: [
		{ host: '1.2.3.4', port: 8765 },
		{ id: 'b1', host: '1.2.3.5', port: 1 },
	],
	waiter: [],
};
const barista: InstanceDefinition = {
	id: 'b1',
	service: 'barista',
	port: 80,
	tags: ['v2'],
	meta: { zone: 'eu-1a' },
	weights: { passing: 7, warning: 3 },
	bind: 'connection',
};
const terms = { ttlMs: 1000, deregisterAfterMs: 60_000, owner: 'me' };

describe('registering at the embedded registry', () => {
	it('is seen by watches at once, beside what stands in the file, and is gone when it is taken out', async () => {
		const backend = await createLocalBackend({ services });
		const registrar = backend.registrar ?? expect.fail();
		const seen: (readonly ServiceInstance[])[] = [];
		backend.watch({ service: 'barista' }, { answered: (list) => seen.push(list), failed: () => expect.fail() });
		const tagged: (readonly ServiceInstance[])[] = [];
		backend.watch(
			{ service: 'barista', tags: ['v2'] },
			{ answered: (list) => tagged.push(list), failed: () => expect.fail() },
		);
		const filed = seen.at(-1);

		expect(await registrar.register(barista, { status: 'passing', note: '' }, terms)).toBe('b1');
		// It takes the place of the one of its name.
		expect(seen.at(-1)?.map(({ instance, host }) => [instance, host])).toEqual([
			['1.2.3.4:8765', '1.2.3.4'],
			['b1', '127.0.0.1'],
		]);
		expect(tagged.at(-1)).toEqual([
			{
				instance: 'b1',
				host: '127.0.0.1',
				port: 80,
				weight: 7,
				status: 'passing',
				tags: ['v2'],
				meta: { zone: 'eu-1a' },
				zone: 'eu-1a',
				datacenter: null,
			},
		]);
		await registrar.report('b1', { status: 'warning', note: 'busy' });
		expect(tagged.at(-1)).toMatchObject([{ status: 'warning', weight: 3 }]);
		const told = seen.length;
		await registrar.report('b1', { status: 'warning', note: 'still busy' });
		expect(seen).toHaveLength(told);
		await registrar.deregister('b1');
		await registrar.deregister('b1');
		expect(seen.at(-1)).toEqual(filed);
		expect(tagged.at(-1)).toEqual([]);
		await expect(registrar.report('b1', { status: 'passing', note: '' })).rejects.toMatchObject({
			code: 'NO_SUCH_SERVICE',
		});
		expect(await registrar.owned('me')).toEqual([]);
		await backend.close();
	});

	it('is told to watches of its service alone, and of the one that its name stood for before', async () => {
		const backend = await createLocalBackend({ services });
		const told: string[] = [];
		const healthy = { status: 'passing', note: '' } as const;
		for (const service of ['barista', 'waiter'])
			backend.watch(
				{ service },
				{ answered: (list) => told.push(`${service} ${list.length}`), failed: () => expect.fail() },
			);
		await backend.registrar?.register({ ...barista, id: 'x' }, healthy, terms);
		await backend.registrar?.register({ ...barista, id: 'x', service: 'waiter' }, healthy, terms);
		await backend.registrar?.deregister('x');
		expect(told).toEqual(['barista 2', 'waiter 0', 'barista 3', 'barista 2', 'waiter 1', 'waiter 0']);
		await backend.close();
	});

	it('makes a service known that stands in no file', async () => {
		const backend = await createLocalBackend();
		await backend.registrar?.register({ ...barista, service: 'roaster' }, { status: 'passing', note: '' }, terms);
		expect(backend.services()).toEqual(['roaster']);
		expect(await backend.list({})).toEqual([{ name: 'roaster', tags: ['v2'] }]);
		await backend.close();
	});
});
