import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { findConsul, startConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { names } from '../../../test/polled-site.ts';
import { watchedMany } from '../../../test/watched-many.ts';

const IDLE_MS = 1500;
const SERVICES = 10;

/** A balancer that answers 504 for what has been silent behind it for too long. */
async function startBalancer(consulUrl: string): Promise<{ url: string; ended: () => number } & AsyncDisposable> {
	let ended = 0;
	const server: Server = createServer((asked, answer) => {
		const behind = request(`${consulUrl}${asked.url}`, { method: asked.method, headers: asked.headers });
		behind.setTimeout(IDLE_MS, () => {
			ended++;
			behind.destroy();
			answer.writeHead(504, { 'content-type': 'text/plain' }).end('upstream request timeout');
		});
		behind.on('response', (response) => {
			answer.writeHead(response.statusCode ?? 502, response.headers);
			response.pipe(answer);
		});
		behind.on('error', () => {
			if (!answer.headersSent) answer.writeHead(502).end();
		});
		answer.on('close', () => behind.destroy());
		asked.pipe(behind);
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		ended: () => ended,
		[Symbol.asyncDispose]: async () => {
			server.closeAllConnections();
			server.close();
			await once(server, 'close');
		},
	};
}

it('a real Consul behind a balancer with a short idle limit: no query fails, nothing is stale, and changes are seen', async () => {
	await using consul = await startConsul({ binary: findConsul(process.env) });
	const register = (name: string, port: number): Promise<void> =>
		consul.put('/v1/agent/service/register', { Name: name, ID: name, Address: '10.0.0.1', Port: port });
	for (const name of names(SERVICES)) await register(name, 1);
	await using balancer = await startBalancer(consul.url);
	await using one = watchedMany([balancer.url], { random: Math.random });
	const all = names(SERVICES).map((name) => one.watch(name));
	await waitFor('four waits of each', () => balancer.ended() >= 4 * SERVICES, 60_000);
	await register('s3', 2);
	await waitFor('the change', () => all[3]?.answers.at(-1)?.[0]?.port === 2);
	for (const { errors, metas } of all) {
		expect(errors).toEqual([]);
		expect(metas.some((meta) => meta?.isUnconfirmed)).toBe(false);
	}
	expect(one.events.filter((event) => event.type === 'backend-query' && event.outcome === 'failed')).toEqual([]);
});
