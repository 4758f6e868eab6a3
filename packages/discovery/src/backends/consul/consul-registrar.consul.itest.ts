import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { findConsul, startConsul, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BackendSource } from '../../backend-source.ts';
import type { InstanceDefinition } from '../../foundation/registrar.ts';
import { Registrations } from '../../registration/registrations.ts';
import { consulBackend } from './consul-backend.ts';
import { ConsulRegistrar } from './consul-registrar.ts';
import { ConsulHttp } from './http/consul-http.ts';

const binary = findConsul(process.env);
const terms = { ttlMs: 60_000, deregisterAfterMs: 600_000, owner: 'me "and" you' };
const passing = { status: 'passing', note: '' } as const;
const barista: InstanceDefinition = {
	id: 'b1',
	service: 'barista',
	host: '10.0.0.1',
	port: 80,
	tags: ['v1'],
	meta: { zone: 'eu-1a' },
	weights: { passing: 7, warning: 3 },
	bind: 'sidecar',
};

function open(addresses: readonly string[]) {
	const http = new ConsulHttp({ addresses });
	return { registrar: new ConsulRegistrar(http), [Symbol.asyncDispose]: () => http.close() };
}

describe('the registrar of a real Consul', () => {
	it('finds its own, and theirs not, as they were registered', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const { registrar } = one;
		expect(await registrar.owned(terms.owner)).toEqual([]);
		expect(await registrar.register(barista, { status: 'warning', note: 'busy' }, terms)).toBe('test/b1');
		await registrar.register({ ...barista, id: 'b2' }, passing, { ...terms, owner: 'me' });
		await consul.put('/v1/agent/service/register', { ID: 'b3', Name: 'barista', Port: 1 });
		const [found, ...others] = await registrar.owned(terms.owner);
		expect(others).toEqual([]);
		expect(found).toMatchObject({
			definition: barista,
			instance: 'test/b1',
			health: { status: 'warning', note: 'busy' },
		});
	});

	it('what an app has registered is no other app’s, after a restart of the sidecar, and for another sidecar once that is gone', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const { registrar } = one;
		const data = { service: 'barista', id: 'b1', port: 80 };
		const app = (name: string) => ({ app: name, told: () => undefined });
		const denied = { code: 'ACL_DENIED', message: expect.stringContaining('another app') };
		const before = new Registrations({ registrar, owner: 'me', ttlMs: 1000 });
		await before.claim(data, app('till'));
		// As a sidecar that was killed.
		before.close();
		const after = new Registrations({ registrar, owner: 'me', ttlMs: 1000, reconnectGraceMs: 60_000 });
		after.adopt();
		// Before Consul has answered, and after that.
		await expect(after.claim(data, app('barista'))).rejects.toMatchObject(denied);
		await expect(async () => after.claim(data, app('barista'))).rejects.toMatchObject(denied);
		await expect(after.withdraw('b1', app('barista'))).rejects.toMatchObject(denied);
		after.close();
		const status = async () => {
			const checks = await (await fetch(`${consul.url}/v1/agent/checks`)).json();
			return (checks as Record<string, { Status: string }>)['service:b1']?.Status;
		};
		await waitFor('its expiry', async () => (await status()) === 'critical');
		const elsewhere = new Registrations({ registrar, owner: 'another', ttlMs: 1000 });
		await expect(elsewhere.claim(data, app('barista'))).rejects.toMatchObject(denied);
		expect(await elsewhere.claim(data, app('till'))).toMatchObject({ state: 'registered' });
		elsewhere.close();
	});

	it('a definition without a check takes out the one that was there', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const checks = async () => Object.keys((await (await fetch(`${consul.url}/v1/agent/checks`)).json()) as object);
		await one.registrar.register({ ...barista, check: { tcp: '127.0.0.1:1' } }, passing, terms);
		expect(await checks()).toEqual(['service:b1', 'service:b1:check']);
		await one.registrar.register(barista, passing, terms);
		expect(await checks()).toEqual(['service:b1']);
	});

	it('says what Consul does not know and what it does not take', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		await expect(one.registrar.report('nobody', passing)).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await one.registrar.deregister('nobody');
		const anywhere = { ...barista, host: '0.0.0.0' };
		await expect(one.registrar.register(anywhere, passing, terms)).rejects.toMatchObject({
			code: 'BAD_REQUEST',
			message: expect.stringContaining('Invalid service address'),
		});
	});

	it('never registers at a second agent: the first one is waited for', async () => {
		await using consul = await startConsul({ binary });
		await using one = open(['http://127.0.0.1:1', consul.url]);
		await expect(one.registrar.register(barista, passing, terms)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		await expect(one.registrar.deregister('b1')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(await (await fetch(`${consul.url}/v1/agent/services`)).json()).toEqual({});
	});

	it('a page that is no answer of Consul is no registration', async () => {
		const { createServer } = await import('node:http');
		const server = createServer((_request, response) => {
			response.setHeader('content-type', 'text/html');
			response.end('<html>hello</html>');
		}).listen(0, '127.0.0.1');
		await waitFor('the server', () => server.listening);
		const { port } = server.address() as { readonly port: number };
		await using one = open([`http://127.0.0.1:${port}`]);
		await expect(one.registrar.report('b1', passing)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		server.close();
		server.closeAllConnections();
	});
});

describe('an id that two sidecars register at one agent', () => {
	it('stays with the first while it keeps it up, without a write of the other, which is told and has it afterwards', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		await using two = open([consul.url]);
		const claim = async (registrar: ConsulRegistrar, owner: string, port: number) => {
			const registrations = new Registrations({ registrar, owner, ttlMs: 1000 });
			const app = { told: () => undefined };
			const reply = await registrations.claim({ service: 'barista', id: 'b1', port }, app);
			return { registrations, app, reply };
		};
		const ports: number[] = [];
		const look = async (): Promise<number | undefined> => {
			const services = (await (await fetch(`${consul.url}/v1/agent/services`)).json()) as Record<
				string,
				{ Port: number }
			>;
			const port = services['b1']?.Port;
			if (port !== undefined && port !== ports.at(-1)) ports.push(port);
			return port;
		};
		const first = await claim(one.registrar, 'one', 1);
		const second = await claim(two.registrar, 'two', 2);
		expect(second.reply).toMatchObject({ state: 'pending', error: expect.stringContaining('another sidecar, one') });
		expect(await look()).toBe(1);
		await second.registrations.withdraw('b1', second.app);
		expect(await look()).toBe(1);
		const again = await claim(two.registrar, 'two', 2);
		// As a sidecar that was killed: nobody keeps it up any more.
		first.registrations.close();
		await waitFor('the second one', async () => (await look()) === 2);
		await waitFor('its word', () => again.registrations.list()[0]?.state === 'registered');
		expect(ports).toEqual([1, 2]);
		again.registrations.close();
	});
});

describe('with ACL tokens that rotate', () => {
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
		const registrations = new Registrations({ registrar: new ConsulRegistrar(http), owner: 'me', ttlMs: 1000 });
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
		const told: string[] = [];
		const reply = await source.registrar?.register({ service: 'barista', id: 'b1', port: 80 }, ({ state }) =>
			told.push(state),
		);
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
