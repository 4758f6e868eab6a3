import { startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BackendSource } from '../../../backend-source.ts';
import { consulBackend } from '../consul-backend.ts';
import { consulRegistrar } from '../consul-registrar.ts';
import { ConsulHttp } from '../http/consul-http.ts';

const NAMES: readonly string[] = ['', '.', '..', 'a\nb', 'a\u0000', 'a\u2028', '\ud800', 'a\u00a0b'];
const refusal = { code: 'BAD_REQUEST', retryable: false, details: { path: 'service' } };

describe('a service whose name Consul cannot have', () => {
	it('is BAD_REQUEST; Consul is not asked, and is not to blame', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'a' }]);
		const backend = consulBackend({ addresses: [fake.url], random: () => 0 });
		const source = new BackendSource({ backend });
		await source.get({ service: 'barista' });
		const askedBefore = fake.requests.filter(({ path }) => !path.endsWith('/barista')).length;
		for (const service of NAMES) await expect(source.get({ service })).rejects.toMatchObject(refusal);
		expect(fake.requests.filter(({ path }) => !path.endsWith('/barista'))).toHaveLength(askedBefore);
		expect(source.status()).toMatchObject({ state: 'up', error: null });
		await source.close();
	});

	it('is refused among many that are polled, and they are served', async () => {
		await using fake = await startFakeConsul();
		fake.set('barista', [{ id: 'a' }]);
		fake.set('roaster', [{ id: 'b' }]);
		const backend = consulBackend({ addresses: [fake.url], random: () => 0, heldMax: 1 });
		const source = new BackendSource({ backend });
		for (const service of ['barista', 'roaster']) {
			expect(await source.get({ service })).toMatchObject({ instances: [{ host: '10.0.0.1' }] });
		}
		await expect(source.get({ service: '..' })).rejects.toMatchObject(refusal);
		fake.set('roaster', []);
		await waitFor('the change', () => source.peek({ service: 'roaster' })?.held === true);
		await source.close();
	});

	it('is not registered: nobody could look it up', async () => {
		await using fake = await startFakeConsul();
		const http = new ConsulHttp({ addresses: [fake.url] });
		const registrar = consulRegistrar(http);
		const definition = { id: 'a', service: 'a\nb', port: 80, tags: [], meta: {}, bind: 'sidecar' as const };
		const terms = { ttlMs: 15_000, deregisterAfterMs: 600_000, owner: 'me' };
		const registering = registrar.register(definition, { status: 'passing', note: '' }, terms);
		await expect(registering).rejects.toMatchObject(refusal);
		expect(fake.requests).toEqual([]);
		await http.close();
	});
});
