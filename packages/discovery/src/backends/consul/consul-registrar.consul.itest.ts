import { findConsul, startConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { InstanceDefinition, Registrar } from '../../foundation/registrar.ts';
import { Registrations } from '../../registration/registrations.ts';
import { consulRegistrar } from './consul-registrar.ts';
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
	const registrar = consulRegistrar(http);
	return {
		registrar,
		[Symbol.asyncDispose]: () => {
			registrar.close();
			return http.close();
		},
	};
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
			return (checks as Record<string, { Status: string }>)['spock:ttl:b1']?.Status;
		};
		await waitFor('its expiry', async () => (await status()) === 'critical');
		const elsewhere = new Registrations({ registrar, owner: 'another', ttlMs: 1000 });
		await expect(elsewhere.claim(data, app('barista'))).rejects.toMatchObject(denied);
		expect(await elsewhere.claim(data, app('till'))).toMatchObject({ state: 'registered' });
		elsewhere.close();
	});

	it('an id that differs in case alone from one at the agent, or is that of Consul itself, is refused: the catalog would replace it', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const { registrar } = one;
		await consul.put('/v1/agent/service/register', { ID: 'db.1', Name: 'db', Port: 1 });
		await consul.put('/v1/agent/service/register', { ID: 'dbx2', Name: 'db', Port: 1 });
		const refused = { code: 'BAD_REQUEST', details: { path: 'id' } };
		await expect(registrar.register({ ...barista, id: 'DB.1' }, passing, terms)).rejects.toMatchObject(refused);
		await expect(registrar.register({ ...barista, id: 'Consul' }, passing, terms)).rejects.toMatchObject(refused);
		expect(await registrar.register({ ...barista, id: 'DB.2' }, passing, terms)).toBe('test/DB.2');
	});

	it('a definition without a check takes out the one that was there', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const checks = async () => Object.keys((await (await fetch(`${consul.url}/v1/agent/checks`)).json()) as object);
		await one.registrar.register({ ...barista, check: { tcp: '127.0.0.1:1' } }, passing, terms);
		expect(await checks()).toEqual(['spock:tcp:b1', 'spock:ttl:b1']);
		await one.registrar.register(barista, passing, terms);
		expect(await checks()).toEqual(['spock:ttl:b1']);
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

	it('leaves an operator’s maintenance and checks of an instance as they are, whatever becomes of it here', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const statuses = async () => {
			const checks = (await (await fetch(`${consul.url}/v1/agent/checks`)).json()) as Record<
				string,
				{ Status: string }
			>;
			return Object.fromEntries(Object.entries(checks).map(([id, { Status }]) => [id, Status]));
		};
		await one.registrar.register({ ...barista, check: { tcp: '127.0.0.1:1' } }, passing, terms);
		await consul.put('/v1/agent/service/maintenance/b1?enable=true&reason=disk');
		await consul.put('/v1/agent/check/register', {
			ID: 'disk',
			Name: 'disk',
			ServiceID: 'b1',
			TTL: '1h',
			Status: 'warning',
		});
		// Named as a check of an earlier version might be.
		await consul.put('/v1/agent/check/register', {
			ID: 'service:b1:check',
			Name: 'GET /health answers 200',
			ServiceID: 'b1',
			TTL: '1h',
			Status: 'warning',
		});
		const theirs = { '_service_maintenance:b1': 'critical', disk: 'warning', 'service:b1:check': 'warning' };
		// Other tags, and no check any more.
		await one.registrar.register({ ...barista, tags: ['v2'] }, passing, terms);
		expect(await statuses()).toEqual({ 'spock:ttl:b1': 'passing', ...theirs });
		// A sidecar that is restarted.
		await using again = open([consul.url]);
		const [found] = await again.registrar.owned(terms.owner);
		await again.registrar.register(found?.definition ?? expect.fail(), passing, terms);
		expect(await statuses()).toEqual({ 'spock:ttl:b1': 'passing', ...theirs });
		// Another one, once the first has left it behind.
		await again.registrar.report('b1', { status: 'critical', note: '' });
		await using next = open([consul.url]);
		await next.registrar.register(barista, passing, { ...terms, owner: 'next' });
		expect(await statuses()).toEqual({ 'spock:ttl:b1': 'passing', ...theirs });
	});

	it('touches no check of another program, nor of another instance, whose names look alike', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const ttl = { TTL: '1h', Status: 'critical' };
		await consul.put('/v1/agent/service/register', { ID: 'web', Name: 'web', Port: 1, Checks: [ttl, ttl] });
		for (const id of ['web:1', 'api', 'api:check'])
			await one.registrar.register({ ...barista, id, check: { tcp: '127.0.0.1:1' } }, passing, terms);
		for (const id of ['api:check', 'api', 'web:1']) await one.registrar.register({ ...barista, id }, passing, terms);
		const checks = (await (await fetch(`${consul.url}/v1/agent/checks`)).json()) as Record<string, object>;
		expect(Object.fromEntries(Object.entries(checks).map(([id, check]) => [id, check]))).toMatchObject({
			'service:web:1': { ServiceID: 'web', Status: 'critical' },
			'service:web:2': { ServiceID: 'web', Status: 'critical' },
			'spock:ttl:web:1': { ServiceID: 'web:1', Status: 'passing' },
			'spock:ttl:api': { ServiceID: 'api', Status: 'passing' },
			'spock:ttl:api:check': { ServiceID: 'api:check', Status: 'passing' },
		});
		expect(Object.keys(checks)).toHaveLength(5);
	});

	it('one that is found has its check, also where its agent has lost it since', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		const check = { tcp: '127.0.0.1:1', intervalMs: 90_000, timeoutMs: 700 };
		await one.registrar.register({ ...barista, check }, passing, terms);
		await using again = open([consul.url]);
		const [found] = await again.registrar.owned(terms.owner);
		expect(found?.definition).toMatchObject({ ...barista, check });
		await consul.put('/v1/agent/service/deregister/b1');
		await again.registrar.register(found?.definition ?? expect.fail(), passing, terms);
		const checks = await (await fetch(`${consul.url}/v1/agent/checks`)).json();
		expect(checks).toMatchObject({
			'spock:tcp:b1': { Name: 'TCP to 127.0.0.1:1', Interval: '1m30s', Timeout: '700ms', Status: 'critical' },
		});
	});

	it('takes over what an earlier version has registered, which is never critical meanwhile', async () => {
		await using consul = await startConsul({ binary });
		await consul.put('/v1/agent/service/register', {
			ID: 'b1',
			Name: 'barista',
			Address: '10.0.0.1',
			Port: 80,
			Tags: ['v1'],
			Meta: { zone: 'eu-1a', 'spock-owner': terms.owner, 'spock-bind': 'sidecar' },
			Weights: { Passing: 7, Warning: 3 },
			Checks: [
				{ CheckID: 'service:b1', Name: 'the app is connected to its sidecar', TTL: '60s', Status: 'passing' },
				{
					CheckID: 'service:b1:check',
					Name: `TCP to ${new URL(consul.url).host}`,
					TCP: new URL(consul.url).host,
					Interval: '1s',
					Status: 'passing',
				},
			],
		});
		const seen = new Set<string>();
		const statuses = async () => {
			const [entry] = (await (await fetch(`${consul.url}/v1/health/service/barista`)).json()) as {
				Checks: { CheckID: string; Status: string }[];
			}[];
			for (const { Status } of entry?.Checks ?? []) seen.add(Status);
			return (entry?.Checks ?? []).map(({ CheckID }) => CheckID).sort();
		};
		await using one = open([consul.url]);
		const [found] = await one.registrar.owned(terms.owner);
		expect(found).toMatchObject({ instance: 'test/b1', health: passing });
		await expect(one.registrar.report('b1', passing)).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await one.registrar.register(found?.definition ?? expect.fail(), passing, terms);
		await waitFor('its checks', async () => (await statuses()).join() === 'serfHealth,spock:tcp:b1,spock:ttl:b1');
		// It goes on with the status that it had.
		expect([...seen]).toEqual(['passing']);
		await one.registrar.register({ ...barista, check: { tcp: new URL(consul.url).host } }, passing, terms);
		await waitFor('its checks', async () => (await statuses()).join() === 'serfHealth,spock:tcp:b1,spock:ttl:b1');
		// Consul's own default for a check that has not run yet.
		seen.delete('critical');
		expect([...seen]).toEqual(['passing']);
	});

	it('is registered at the next address where the first cannot be reached', async () => {
		await using consul = await startConsul({ binary });
		await using one = open(['http://127.0.0.1:1', consul.url]);
		expect(await one.registrar.register(barista, passing, terms)).toBe('test/b1');
		await one.registrar.report('b1', passing);
		await one.registrar.deregister('b1');
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
	it('stays with the first while it keeps it up, without a write of the other, which is notified and has it afterwards', async () => {
		await using consul = await startConsul({ binary });
		await using one = open([consul.url]);
		await using two = open([consul.url]);
		const claim = async (registrar: Registrar, owner: string, port: number) => {
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
		// As a sidecar that was killed: it is not renewed any more.
		first.registrations.close();
		await waitFor('the second one', async () => (await look()) === 2);
		await waitFor('its word', () => again.registrations.list()[0]?.state === 'registered');
		expect(ports).toEqual([1, 2]);
		again.registrations.close();
	});
});
