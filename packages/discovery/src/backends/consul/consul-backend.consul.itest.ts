import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

import type { ServiceSnapshot, SpockError } from '@spock/protocol';
import { findConsul, type RealConsul, spawnProcess, startConsul, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BackendSource, type BackendSourceOptions } from '../../backend-source.ts';
import type { DiscoveryEvent } from '../../foundation/discovery-event.ts';
import { consulBackend } from './consul-backend.ts';
import { type ConsulBackendOptions, consulOptionsFromEnvironment } from './consul-backend-options.ts';

const binary = findConsul(process.env);
/** A change is pushed within milliseconds; a watch that had to wait for its query to end would need 55 s. */
const PUSHED_MS = 10_000;
const barista = { service: 'barista' };

function open(consul: RealConsul, options: ConsulBackendOptions = {}, source: Partial<BackendSourceOptions> = {}) {
	const events: DiscoveryEvent[] = [];
	const onEvent = (event: DiscoveryEvent): number => events.push(event);
	const backend = consulBackend({ addresses: [consul.url], onEvent, ...options });
	const opened = new BackendSource({ backend, onEvent, emptyHoldMs: 0, ...source });
	const seen: ServiceSnapshot[] = [];
	const errors: SpockError[] = [];
	const watch = (query = barista) =>
		opened.watch(query, { next: (snapshot) => seen.push(snapshot), error: (error) => errors.push(error) });
	const queries = () => events.filter((event) => event.type === 'backend-query' && event.outcome === 'ok').length;
	return { source: opened, seen, errors, events, watch, queries, [Symbol.asyncDispose]: () => opened.close() };
}

const register = (consul: RealConsul, id: string, more: Record<string, unknown> = {}) =>
	consul.put('/v1/agent/service/register', {
		ID: id,
		Name: 'barista',
		Address: '10.0.0.1',
		Port: 8765,
		Check: { CheckID: `check-${id}`, TTL: '10m', Status: 'passing' },
		...more,
	});

async function within<T>(what: string, probe: () => T | undefined | false): Promise<T> {
	const startedMs = performance.now();
	const value = await waitFor(what, probe);
	expect(performance.now() - startedMs).toBeLessThan(PUSHED_MS);
	return value;
}

describe('against a real Consul', () => {
	it('a registration, a change of health, new tags and a deregistration are each seen when they happen', async () => {
		await using consul = await startConsul({ binary });
		await using one = open(consul);
		one.watch();
		await within('the empty service', () => one.seen.at(-1)?.instances.length === 0);
		await register(consul, 'b1', { Tags: ['v1'], Meta: { zone: 'z1' }, Weights: { Passing: 7, Warning: 3 } });
		await within('the registration', () => one.seen.at(-1)?.instances[0]?.status === 'passing');
		expect(one.seen.at(-1)?.instances).toEqual([
			{
				instance: 'test/b1',
				host: '10.0.0.1',
				port: 8765,
				weight: 7,
				status: 'passing',
				tags: ['v1'],
				meta: { zone: 'z1' },
				zone: 'z1',
				datacenter: 'dc1',
			},
		]);
		await consul.put('/v1/agent/check/warn/check-b1');
		await within('the warning', () => one.seen.at(-1)?.instances[0]?.status === 'warning');
		expect(one.seen.at(-1)?.instances[0]?.weight).toBe(3);
		await consul.put('/v1/agent/check/fail/check-b1');
		await within('the failure', () => one.seen.at(-1)?.instances[0]?.status === 'critical');
		await consul.put('/v1/agent/service/maintenance/b1?enable=true&reason=test');
		await within('the maintenance', () => one.seen.at(-1)?.instances[0]?.status === 'maintenance');
		await consul.put('/v1/agent/service/deregister/b1');
		await within('the deregistration', () => one.seen.at(-1)?.instances.length === 0);
		const revisions = one.seen.map(({ revision }) => revision);
		expect(revisions).toEqual([...revisions].sort((left, right) => left - right));
		expect(one.errors).toEqual([]);
		expect(one.source.status()).toMatchObject({ state: 'up' });
	});

	it('tags are asked for together, and names are listed', async () => {
		await using consul = await startConsul({ binary });
		await register(consul, 'b1', { Tags: ['v1'] });
		await register(consul, 'b2', { Tags: ['v1', 'x'] });
		await using one = open(consul);
		const snapshot = await one.source.get({ service: 'barista', tags: ['x', 'v1'] });
		expect(snapshot.instances.map(({ instance }) => instance)).toEqual(['test/b2']);
		expect(snapshot.tags).toEqual(['v1', 'x']);
		const { services } = await one.source.list();
		expect(services).toContainEqual({ name: 'barista', tags: ['v1', 'x'] });
		expect(await one.source.get({ service: 'nobody' })).toMatchObject({ instances: [], source: 'live' });
	});

	it('a query that returns with nothing changed publishes nothing', async () => {
		// Otherwise an agent keeps a new output to itself for five minutes.
		await using consul = await startConsul({ binary, hcl: ['check_update_interval = "0s"'] });
		await register(consul, 'b1');
		await using one = open(consul);
		one.watch();
		await within('the service', () => one.seen.length === 1);
		for (const output of ['one', 'two', 'three']) {
			const before = one.queries();
			await consul.put(`/v1/agent/check/update/check-b1`, { Status: 'passing', Output: output });
			await waitFor('a query that returned', () => one.queries() > before);
		}
		expect(one.seen).toHaveLength(1);
		// And the watch is not deaf after that.
		await consul.put('/v1/agent/check/fail/check-b1');
		await within('a real change', () => one.seen.length === 2);
	});

	it('an agent that was killed and is back: the last known good, then live again, then changes', async () => {
		await using consul = await startConsul({ binary, mode: 'server', hcl: ['performance { raft_multiplier = 1 }'] });
		await register(consul, 'b1');
		await using one = open(consul);
		one.watch();
		await within('the service', () => one.seen.at(-1)?.instances.length === 1);
		await consul.kill();
		await within('the loss', () => one.seen.at(-1)?.source === 'last-known-good');
		expect(one.source.peek(barista)?.instances).toMatchObject([{ instance: 'test/b1' }]);
		expect(await one.source.get(barista)).toMatchObject({ source: 'last-known-good' });
		await consul.restart();
		await waitFor('the return', () => one.seen.at(-1)?.source === 'live', 60_000);
		await waitFor('the service', () => one.seen.at(-1)?.instances.length === 1, 60_000);
		await consul.put('/v1/agent/check/fail/check-b1');
		await within('a change after the return', () => one.seen.at(-1)?.instances[0]?.status === 'critical');
	});

	it('an index that goes back, because an agent lost its memory, does not make the watch deaf', async () => {
		await using consul = await startConsul({ binary });
		for (let count = 0; count < 20; count++) await register(consul, `old-${count}`);
		await using one = open(consul);
		one.watch();
		await within('the services', () => one.seen.at(-1)?.instances.length === 20);
		await consul.restart();
		await waitFor(
			'the emptiness',
			() => one.seen.at(-1)?.source === 'live' && one.seen.at(-1)?.instances.length === 0,
			60_000,
		);
		await register(consul, 'new');
		await within('the new service', () => one.seen.at(-1)?.instances[0]?.instance === 'test/new');
	});

	it('under default deny a token that Consul does not know, or that may read nothing, is ACL_DENIED; a good one is answered', async () => {
		const token = 'b1950001-0000-4000-8000-000000000001';
		const powerless = 'b1950002-0000-4000-8000-000000000002';
		const unknown = 'b1950003-0000-4000-8000-000000000003';
		const acl = `acl { enabled = true default_policy = "deny" tokens { initial_management = "${token}" agent = "${token}" } }`;
		await using consul = await startConsul({ binary, hcl: [acl], token });
		await register(consul, 'b1');
		await consul.put('/v1/acl/token', { SecretID: powerless });
		for (const bad of [unknown, powerless]) {
			await using denied = open(consul, { token: bad });
			await expect(denied.source.get(barista)).rejects.toMatchObject({ code: 'ACL_DENIED' });
			const told = [denied.events, denied.errors, denied.source.status(), denied.source.watches()];
			expect(JSON.stringify(told)).not.toContain(bad);
		}
		await using allowed = open(consul, { token });
		expect((await allowed.source.get(barista)).instances).toHaveLength(1);
	});

	it('over TLS with a client certificate, as its environment variables say', async () => {
		await using place = await tempSocket();
		const cwd = place.directory;
		for (const args of [
			['ca', 'create'],
			['cert', 'create', '-server'],
			['cert', 'create', '-client'],
		]) {
			expect(await spawnProcess(binary, ['tls', ...args], { cwd }).finished).toMatchObject({ exitCode: 0 });
		}
		const file = (name: string): string => join(cwd, name);
		const server = createServer(
			{
				ca: readFileSync(file('consul-agent-ca.pem')),
				cert: readFileSync(file('dc1-server-consul-0.pem')),
				key: readFileSync(file('dc1-server-consul-0-key.pem')),
				requestCert: true,
				rejectUnauthorized: true,
			},
			(_request, response) => response.setHeader('content-type', 'application/json').end('{"barista":[]}'),
		);
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		const { port } = server.address() as { readonly port: number };
		const trusting = { CONSUL_HTTP_ADDR: `127.0.0.1:${port}`, CONSUL_HTTP_SSL: '1' };
		const whole = {
			...trusting,
			CONSUL_CACERT: file('consul-agent-ca.pem'),
			CONSUL_CLIENT_CERT: file('dc1-client-consul-0.pem'),
			CONSUL_CLIENT_KEY: file('dc1-client-consul-0-key.pem'),
			CONSUL_TLS_SERVER_NAME: 'server.dc1.consul',
		};
		const list = async (env: Record<string, string>): Promise<unknown> => {
			const backend = consulBackend(consulOptionsFromEnvironment(env));
			const result = await backend.list({}).catch((error: unknown) => error);
			await backend.close();
			return result;
		};
		expect(await list(whole)).toEqual([{ name: 'barista', tags: [] }]);
		// Nobody vouches for the server; it is another one; and it does not know us.
		expect(await list(trusting)).toMatchObject({ code: 'UNAVAILABLE' });
		expect(await list({ ...whole, CONSUL_TLS_SERVER_NAME: 'server.dc2.consul' })).toMatchObject({
			code: 'UNAVAILABLE',
		});
		expect(
			await list({ ...trusting, CONSUL_CACERT: whole.CONSUL_CACERT, CONSUL_TLS_SERVER_NAME: 'server.dc1.consul' }),
		).toMatchObject({ code: 'UNAVAILABLE' });
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
	});
});
