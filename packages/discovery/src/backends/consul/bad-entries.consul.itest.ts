import { findConsul, type RealConsul, startConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { BackendSource } from '../../backend-source.ts';
import { consulBackend } from './consul-backend.ts';

const binary = findConsul(process.env);
const barista = { service: 'barista' };

const atAgent = (consul: RealConsul, ID: string, more: object) =>
	consul.put('/v1/agent/service/register', { ID, Name: 'barista', Address: '10.0.0.1', Port: 80, ...more });

/** The catalog takes what an agent might refuse, of a node of its own. */
const inCatalog = (consul: RealConsul, node: string, service: object, more: object = {}) =>
	consul.put('/v1/catalog/register', {
		Node: node,
		Address: '10.0.0.9',
		Service: { ID: `${node}-1`, Service: 'barista', Port: 80, ...service },
		...more,
	});

describe('what a real Consul takes without a word', () => {
	it('takes no good instance away: bad ports and hosts are left out and reported, odd names are served', async () => {
		await using consul = await startConsul({ binary });
		const source = new BackendSource({ backend: consulBackend({ addresses: [consul.url] }), emptyHoldMs: 0 });
		await using _closing = { [Symbol.asyncDispose]: () => source.close() };
		const seen: string[][] = [];
		source.watch(barista, { next: ({ instances }) => seen.push(instances.map(({ instance }) => instance)) });
		const names = (): string => (seen.at(-1) ?? []).join(' ');
		await atAgent(consul, 'n1', {});
		await waitFor('the first one', () => names() === 'test/n1');
		await atAgent(consul, 'port-over', { Port: 70_000 });
		await atAgent(consul, 'port-under', { Port: -1 });
		await atAgent(consul, 'host-crlf', { Address: '10.0.0.1\r\nX-Bad: 1' });
		await atAgent(consul, 'host-url', { Address: 'http://10.0.0.1:80/' });
		await inCatalog(consul, 'cat-port', { Port: 99_999 });
		await inCatalog(consul, 'cat-host', { Address: 'a b' });
		await inCatalog(consul, 'odd-node', {
			ID: '__proto__',
			Meta: { constructor: 'x', zone: '\u001b[2J' },
			Tags: ['', '\n'],
		});
		await inCatalog(consul, 'odd-weight', { Weights: { Passing: -5, Warning: -5 } });
		await inCatalog(consul, 'long', { ID: 'i'.repeat(2000), Tags: ['t'.repeat(5000)] });
		await atAgent(consul, 'n2', {});
		await consul.put('/v1/agent/service/deregister/n1', {});
		const good = ['long/', 'odd-node/__proto__', 'odd-weight/', 'test/n2'];
		await waitFor('the good ones, and only those', () => {
			const last = seen.at(-1) ?? [];
			return last.length === good.length && last.every((name, index) => name.startsWith(good[index] as string));
		});
		const { refused = [], refusedCount, state } = await source.inspect(barista);
		expect([state, refusedCount, refused.map(({ instance }) => instance).sort()]).toEqual([
			'fresh',
			6,
			[
				'cat-host/cat-host-1',
				'cat-port/cat-port-1',
				'test/host-crlf',
				'test/host-url',
				'test/port-over',
				'test/port-under',
			],
		]);
		await atAgent(consul, 'port-over', { Port: 81 });
		await waitFor('the mended one', () => names().includes('test/port-over'));
		expect((await source.inspect(barista)).refusedCount).toBe(5);
	});
});
