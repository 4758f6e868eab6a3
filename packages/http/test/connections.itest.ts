import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import type { Socket } from 'node:net';

import { DiscoveryAgent } from '@spock/http';
import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { startHeldInstance, startInstance, startInstances } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { send } from './send.ts';

describe('idle connections', () => {
	it('that were closed a moment ago are found out before anything is sent', async () => {
		await using web = await startInstance('web-1');
		await using service = scriptedService('web');
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		for (let turn = 0; turn < 20; turn++) {
			await Promise.all([send('http://web.spock/', { agent }), send('http://web.spock/', { agent })]);
			// The kernel has their end now, and this process has not read it.
			for (const socket of web.sockets) socket.destroy();
			expect((await send('http://web.spock/', { agent, method: 'POST' }, 'a body')).status).toBe(200);
		}
		expect(service.outcomes()).not.toContain('failure');
		expect(service.open()).toBe(0);
		agent.destroy();
	});

	it('are closed before the server closes them, which it tells', async () => {
		await using web = await startInstance('web-1');
		await using service = scriptedService('web');
		service.set([web]);
		for (const [seconds, options] of [
			[2, { agentKeepAliveTimeoutBuffer: 1950 }],
			[60, { idleTimeoutMs: 50 }],
		] as const) {
			web.server.keepAliveTimeout = seconds * 1000;
			const agent = new DiscoveryAgent({ diplomat: service.diplomat, ...options });
			let ended: boolean | undefined;
			web.server.once('connection', (socket: Socket) => socket.once('end', () => (ended = true)));
			await send('http://web.spock/', { agent });
			await waitFor('the client to close it', () => ended);
			agent.destroy();
		}
	});

	it('that have all ended by themselves leave nothing to be watched', async () => {
		await using web = await startInstance('web-1');
		await using service = scriptedService('web');
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, idleTimeoutMs: 50 });
		await send('http://web.spock/', { agent });
		await waitFor('the end of the connection', () => web.sockets.size === 0);
		await waitFor('the end of the watch', () => service.watchers === 1);
		agent.destroy();
	});

	it('have no time-out of being idle while they are used', async () => {
		const answers: (() => void)[] = [];
		await using web = await startInstance('web-1', {
			handle: (_request, response) => {
				response.write('early');
				answers.push(() => response.end('late'));
			},
		});
		await using service = scriptedService('web');
		service.set([web]);
		const agent = new DiscoveryAgent({
			diplomat: service.diplomat,
			idleTimeoutMs: 3_600_000,
			agentKeepAliveTimeoutBuffer: 0,
		});
		web.server.keepAliveTimeout = 7_200_000;
		for (let turn = 0; turn < 2; turn++) {
			const request = requestHttp('http://web.spock/', { agent }).end();
			const [response] = await once(request, 'response');
			const { socket } = response;
			expect(socket.timeout ?? 0).toBe(0);
			response.resume();
			for (const answer of answers.splice(0)) answer();
			await once(socket, 'free');
			await waitFor('its time-out of being idle', () => socket.timeout === 3_600_000);
		}
		expect(web.connections).toBe(1);
		agent.destroy();
	});
});

describe('a connection that becomes the caller’s', () => {
	it.each(['upgrade', 'connect'] as const)(
		'by %s counts until it closes, and is not closed with its instance',
		async (kind) => {
			await using web = await startInstance('web-1');
			web.server.on(kind, async (_request: unknown, socket: Socket) => {
				await waitFor('the watch', () => service.watchers === 2);
				const head = kind === 'upgrade' ? '101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x' : '200 OK';
				socket.write(`HTTP/1.1 ${head}\r\n\r\n`);
				socket.pipe(socket);
			});
			await using service = scriptedService('web');
			service.set([web]);
			const agent = new DiscoveryAgent({ diplomat: service.diplomat });
			const options = kind === 'upgrade' ? { headers: { connection: 'upgrade', upgrade: 'x' } } : { method: 'CONNECT' };
			const request = requestHttp('http://web.spock/', { agent, ...options }).end();
			const [, socket] = (await once(request, kind)) as [unknown, Socket];
			expect(service.outcomes()).toEqual([undefined]);
			service.set([]);
			socket.write('ping');
			expect(String((await once(socket, 'data'))[0])).toBe('ping');
			socket.destroy();
			await waitFor('the release', () => service.open() === 0);
			expect(service.outcomes()).toEqual(['success']);
			agent.destroy();
		},
	);
});

it('maxSockets holds for each instance while connections are made', async () => {
	await using web = await startInstances(2);
	await using service = scriptedService('web');
	service.set(web);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat, maxSockets: 3 });
	await Promise.all(Array.from({ length: 60 }, () => send('http://web.spock/', { agent })));
	expect(web.map(({ requests }) => requests)).toEqual([30, 30]);
	for (const { connections } of web) expect(connections).toBeLessThanOrEqual(3);
	agent.destroy();
});

it('without keepAlive each request has a connection of its own, and nothing is watched', async () => {
	await using web = await startInstances(2);
	await using service = scriptedService('web');
	service.set(web);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat, keepAlive: false });
	for (let turn = 0; turn < 6; turn++) await send('http://web.spock/', { agent });
	expect(web.map(({ connections }) => connections)).toEqual([3, 3]);
	expect(service.watchers).toBe(1);
	await waitFor('the releases', () => service.open() === 0);
});

it('an agent that is destroyed begins nothing again that it has cut', async () => {
	await using web = await startHeldInstance('web-1');
	await using service = scriptedService('web');
	service.set([web]);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat });
	const sent = send('http://web.spock/', { agent });
	await waitFor('the request', () => web.requests === 1);
	const connecting = send('http://web.spock/', { agent });
	agent.destroy();
	expect(await Promise.allSettled([sent, connecting])).toMatchObject([
		{ reason: { code: 'ECONNRESET' } },
		{ reason: { code: 'UNAVAILABLE' } },
	]);
	expect(web.requests).toBe(1);
	await waitFor('the releases', () => service.open() === 0);
	// It can be used again, as Node's own.
	const again = send('http://web.spock/', { agent });
	await waitFor('the next request', () => web.requests === 2);
	web.go();
	expect((await again).status).toBe(200);
	agent.destroy();
});
