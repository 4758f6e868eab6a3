import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { FakeClock, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { BackendSource } from '../../backend-source.ts';
import type { InstanceDefinition } from '../../foundation/registrar.ts';
import { consulBackend } from './consul-backend.ts';

const INSTANCE = {
	Node: { Node: 'n1', Address: '127.0.0.1', Datacenter: 'dc1' },
	Service: { ID: 'a', Port: 80, Tags: [], Meta: {} },
	Checks: [],
};

/** A Consul that hangs where the datacenter is `hung`, and knows none that is made up; what it was asked, and what hangs. */
async function startConsul() {
	const asked: URL[] = [];
	const hanging = new Set<ServerResponse>();
	const answer = ({ url = '', method }: IncomingMessage, response: ServerResponse): void => {
		const parsed = new URL(url, 'http://consul');
		asked.push(parsed);
		const datacenter = parsed.searchParams.get('dc') ?? '';
		if (datacenter === 'hung' || parsed.searchParams.has('index')) {
			hanging.add(response);
			response.on('close', () => hanging.delete(response));
			return;
		}
		const headers = { 'content-type': 'application/json', 'x-consul-index': '10', 'x-consul-knownleader': 'true' };
		if (datacenter.startsWith('made-up')) response.writeHead(500).end('No path to datacenter');
		else if (parsed.pathname === '/v1/status/leader') response.writeHead(200, headers).end('"127.0.0.1:8300"');
		else if (parsed.pathname.startsWith('/v1/health/'))
			response.writeHead(200, headers).end(JSON.stringify([INSTANCE]));
		else response.writeHead(200, headers).end(method === 'GET' ? '{}' : '');
	};
	const server = createServer(answer);
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		asked,
		hung: () => asked.filter(({ searchParams }) => searchParams.get('dc') === 'hung').length,
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		async [Symbol.asyncDispose]() {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

it('lookups in a datacenter that hangs delay neither those in the own one, nor those in another, nor a list, nor a registration', async () => {
	const clock = new FakeClock();
	await using consul = await startConsul();
	const backend = consulBackend({ addresses: [consul.url], clock, heldMax: 1 });
	const source = new BackendSource({ backend, clock });
	const flood = Array.from({ length: 400 }, (_, number) =>
		source.get({ service: `made-up-${number}`, datacenter: 'hung' }, { asker: 1, timeoutMs: 8000 }),
	);
	const ends = Promise.allSettled(flood);
	await waitFor('the first ones', () => consul.hung() >= 2);
	// As time passes, slow ones must not make room for more.
	for (let number = 0; number < 30; number++) await clock.advance(100);
	const own = await source.get({ service: 'barista' }, { asker: 2 });
	const other = await source.get({ service: 'barista', datacenter: 'dc2' }, { asker: 2 });
	const list = await source.list({}, { asker: 2 });
	const place = { service: 'shop', id: 'shop-1', host: '127.0.0.1', port: 80, tags: [], meta: {}, bind: 'connection' };
	const terms = { ttlMs: 30_000, deregisterAfterMs: 60_000, owner: 'sidecar' };
	await backend.registrar?.register(place as InstanceDefinition, { status: 'passing', note: '' }, terms);
	expect([own.instances.length, other.instances.length, list.source]).toEqual([1, 1, 'live']);
	expect(consul.asked.some(({ pathname }) => pathname === '/v1/agent/service/register')).toBe(true);
	expect(consul.hung()).toBeLessThanOrEqual(2);
	await clock.advance(10_000);
	await source.close();
	await ends;
});

it('datacenters that do not exist take the leader checks of none that does', async () => {
	const clock = new FakeClock();
	await using consul = await startConsul();
	const source = new BackendSource({ backend: consulBackend({ addresses: [consul.url], clock }), clock });
	const madeUp = Array.from({ length: 80 }, (_, number) =>
		source.get({ service: 'barista', datacenter: `made-up-${number}` }, { asker: 1, timeoutMs: 2000 }),
	);
	const ends = Promise.allSettled(madeUp);
	await waitFor('their failure', async () => {
		await clock.advance(100);
		return new Set(consul.asked.map(({ searchParams }) => searchParams.get('dc'))).size >= 80;
	});
	const watching = source.watch({ service: 'barista', datacenter: 'dc2' }, { next: () => undefined });
	await waitFor('a leader check of dc2', async () => {
		await clock.advance(500);
		return consul.asked.some(({ pathname, searchParams }) => {
			return pathname === '/v1/status/leader' && searchParams.get('dc') === 'dc2';
		});
	});
	watching.stop();
	await source.close();
	await ends;
});
