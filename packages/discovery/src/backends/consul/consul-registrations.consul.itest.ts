import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { findConsul, startConsul, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BackendSource } from '../../backend-source.ts';
import { Registrations } from '../../registration/registrations.ts';
import { consulBackend } from './consul-backend.ts';
import { consulRegistrar } from './consul-registrar.ts';
import { ConsulHttp } from './http/consul-http.ts';

const binary = findConsul(process.env);

describe('registrations with ACL tokens that rotate', () => {
	it('goes on being published when the token that registered it is revoked', async () => {
		const hcl = ['acl { enabled = true default_policy = "deny" tokens { initial_management = "root" } }'];
		await using consul = await startConsul({ binary, hcl, token: 'root' });
		await consul.put('/v1/acl/policy', { Name: 'app', Rules: 'service_prefix "" { policy = "write" }' });
		const makeToken = async (SecretID: string): Promise<string> => {
			const AccessorID = randomUUID();
			await consul.put('/v1/acl/token', { AccessorID, SecretID, Policies: [{ Name: 'app' }] });
			return AccessorID;
		};
		const [first, second] = [randomUUID(), randomUUID()];
		const accessor = await makeToken(first);
		await makeToken(second);
		await using place = await tempSocket();
		const tokenFile = join(place.directory, 'token');
		await writeFile(tokenFile, first);
		const http = new ConsulHttp({ addresses: [consul.url], tokenFile });
		const registrations = new Registrations({ registrar: consulRegistrar(http), owner: 'me', ttlMs: 1000 });
		const app = { told: () => undefined };
		await registrations.claim({ service: 'barista', id: 'b1', port: 80 }, app);
		const published = async (): Promise<string | undefined> => {
			const headers = { 'x-consul-token': 'root' };
			const checks = await (await fetch(`${consul.url}/v1/health/checks/barista`, { headers })).json();
			return (checks as readonly { readonly Status: string }[])[0]?.Status;
		};
		await waitFor('the registration', async () => (await published()) === 'passing');
		await writeFile(tokenFile, second);
		const response = await fetch(`${consul.url}/v1/acl/token/${accessor}`, {
			method: 'DELETE',
			headers: { 'x-consul-token': 'root' },
		});
		expect(response.ok).toBe(true);
		await registrations.report({ id: 'b1', status: 'warning' }, app);
		// An agent whose full synchronisation has failed with the old token tries again after 15 to 30 s.
		await waitFor('the warning', async () => (await published()) === 'warning', 60_000);
		registrations.close();
		await http.close();
	}, 90_000);
});

describe('a source over Consul that registers, without a sidecar', () => {
	it('registers, reports, is found, and takes it out when it is closed', async () => {
		await using consul = await startConsul({ binary });
		const backend = consulBackend({ addresses: [consul.url] });
		const registrations = new Registrations({ registrar: backend.registrar ?? expect.fail(), owner: 'app' });
		const source = new BackendSource({ backend, registrations });
		const registration = { service: 'barista', id: 'b1', port: 80 };
		const reply = await source.registrar?.register(registration, () => undefined);
		expect(reply).toMatchObject({ id: 'b1', instance: 'test/b1', state: 'registered' });
		// No host was given: the address of the agent's node is taken.
		expect((await source.get({ service: 'barista' })).instances).toMatchObject([
			{ instance: 'test/b1', host: '127.0.0.1' },
		]);
		await source.registrar?.report({ id: 'b1', status: 'warning', note: 'busy' });
		await waitFor('the warning', () => source.peek({ service: 'barista' })?.instances[0]?.status === 'warning');
		await source.close();
		expect(await (await fetch(`${consul.url}/v1/agent/services`)).json()).toEqual({});
	});
});
