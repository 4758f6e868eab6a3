import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@spock/protocol/internal';
import { startFakeConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { consulBackend } from '../consul-backend.ts';
import { parseConsulAddress } from './consul-address.ts';
import { ConsulCall } from './consul-call.ts';
import { createClient, retireClient, sendRequest } from './consul-client.ts';

it('a client that is retired closes what is free at once, and what is in use with its call', async () => {
	await using fake = await startFakeConsul();
	fake.set('barista', [{ id: 'a' }]);
	const client = createClient(parseConsulAddress(fake.url), {}, {}, 10, systemClock);
	const ask = (parameters: Record<string, string>) =>
		sendRequest(client, { ctx: new ConsulCall(parameters) }, { method: 'GET', path: '/health/service/barista' });
	await Promise.all([ask({}), ask({})]);
	const blocked = ask({ index: String(fake.index), wait: '55s' });
	await waitFor('the query', () => fake.blocked === 1);
	expect(fake.connections).toBe(2);
	retireClient(client);
	await waitFor('the free one to close', () => fake.connections === 1);
	fake.touch();
	expect(await blocked).toMatchObject([{ statusCode: 200 }, [{ Service: { ID: 'a' } }]]);
	// Well before the server's own limit for an idle connection, which is 5 s.
	await waitFor('the other one to close', () => fake.connections === 0, 3000);
});

it('a proxy that asks for it is given user and password, with every request and beside the token', async () => {
	const seen: unknown[] = [];
	const server = createServer(({ headers }, response) => {
		const { authorization, 'x-consul-token': token } = headers;
		seen.push([authorization, token]);
		response.setHeader('content-type', 'application/json');
		response.end('{}');
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	const backend = consulBackend({ addresses: [`http://127.0.0.1:${port}`], basicAuth: 'ann:s3cret', token: 'a-token' });
	expect(await backend.list({})).toEqual([]);
	expect(seen.length).toBeGreaterThan(0);
	expect(new Set(seen.map(String))).toEqual(new Set(['Basic YW5uOnMzY3JldA==,a-token']));
	await backend.close();
	server.close();
	server.closeAllConnections();
});
