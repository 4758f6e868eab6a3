import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

import { findConsul, type RealConsul, startConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BackendSource } from '../backend-source.ts';
import { consulBackend } from '../backends/consul/consul-backend.ts';

const binary = findConsul(process.env);
const barista = { service: 'barista' };

const register = (consul: RealConsul, more: object = {}) =>
	consul.put('/v1/agent/service/register', { ID: 'b1', Name: 'barista', Address: '10.0.0.1', Port: 80, ...more });

/** A proxy that says of every service, while it lies, that there are no instances, under the index that is true. */
async function lyingProxy(url: string) {
	const proxy = { isLying: false, url: '', close: () => Promise.resolve() };
	const server = createServer((incoming, outgoing) => {
		const { method, headers } = incoming;
		const forwarded = request(new URL(incoming.url ?? '/', url), { method, headers }, (answer) => {
			const { 'content-length': _, 'content-encoding': _encoding, ...kept } = answer.headers;
			const isHidden = proxy.isLying && incoming.url?.startsWith('/v1/health/service/') === true;
			outgoing.writeHead(answer.statusCode ?? 500, isHidden ? kept : answer.headers);
			if (isHidden) {
				answer.resume();
				outgoing.end('[]');
			} else answer.pipe(outgoing);
		});
		forwarded.on('error', () => outgoing.destroy());
		outgoing.on('close', () => forwarded.destroy());
		incoming.pipe(forwarded);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	proxy.close = async () => {
		server.closeAllConnections();
		server.close();
		await once(server, 'close');
	};
	return proxy;
}

describe('nothing is left, says a real Consul', () => {
	it('by a proxy that lies for less than a hold: no lookup ever fails, and the truth is back with the end of the hold', async () => {
		await using consul = await startConsul({ binary });
		const proxy = await lyingProxy(consul.url);
		await using _proxy = { [Symbol.asyncDispose]: () => proxy.close() };
		const source = new BackendSource({ backend: consulBackend({ addresses: [proxy.url] }), emptyHoldMs: 1500 });
		await using _closing = { [Symbol.asyncDispose]: () => source.close() };
		const seen: { count: number; held: boolean; source: string }[] = [];
		await register(consul);
		source.watch(barista, {
			next: (one) => seen.push({ count: one.instances.length, held: one.held === true, source: one.source }),
		});
		await waitFor('the instance', () => seen.at(-1)?.count === 1);
		proxy.isLying = true;
		await register(consul, { Tags: ['changed'] });
		await waitFor('the hold', () => seen.at(-1)?.held === true);
		proxy.isLying = false;
		await waitFor('the truth', () => seen.at(-1)?.source === 'live');
		expect(seen.map(({ count }) => count)).not.toContain(0);
	});

	it('of a tag that the last instance with it has lost: believed at once, and not held', async () => {
		await using consul = await startConsul({ binary });
		const source = new BackendSource({ backend: consulBackend({ addresses: [consul.url] }), emptyHoldMs: 60_000 });
		await using _closing = { [Symbol.asyncDispose]: () => source.close() };
		await register(consul, { Tags: ['canary'] });
		const canary = { service: 'barista', tags: ['canary'] };
		expect((await source.get(canary)).instances).toHaveLength(1);
		await register(consul, { Tags: ['stable'] });
		await waitFor('the promotion', () => {
			const known = source.peek(canary);
			return known?.source === 'live' && known.instances.length === 0;
		});
		await consul.put('/v1/agent/service/deregister/b1', {});
		await waitFor('the other question', () => source.peek(canary)?.instances.length === 0);
	});
});
