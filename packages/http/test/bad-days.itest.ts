import { once } from 'node:events';
import { request as requestHttp } from 'node:http';

import { DiscoveryAgent } from '@spock/http';
import { freePort, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { startInstance } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { begin, errorsOf, send } from './send.ts';

describe('an instance that cannot be connected to', () => {
	it('is passed over, whatever the method, for nothing was sent; the Host header is that of the next', async () => {
		await using web = await startInstance('web-2');
		await using service = scriptedService('web');
		service.set([{ id: 'web-1', host: '127.0.0.1', port: await freePort() }, web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		for (let turn = 0; turn < 4; turn++) {
			const { body } = await send('http://web.spock/', { agent, method: 'POST' }, 'a body');
			expect(JSON.parse(body)).toEqual({
				id: 'web-2',
				method: 'POST',
				host: `127.0.0.1:${web.port}`,
				body: 'a body',
			});
		}
		const failed = service.calls.filter(({ outcome }) => outcome === 'failure').map(({ instance }) => instance);
		expect(new Set(failed)).toEqual(new Set(['web-1']));
		expect(service.open()).toBe(0);
		agent.destroy();
	});

	it('ends the request at once where connectRetriesMax is 0', async () => {
		await using service = scriptedService('web');
		const ports = [await freePort(), await freePort()];
		service.set(ports.map((port) => ({ id: `web-${port}`, host: '127.0.0.1', port })));
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, connectRetriesMax: 0 });
		await expect(send('http://web.spock/', { agent })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(service.outcomes()).toEqual(['failure']);
	});

	it('is not asked twice by one request', async () => {
		await using service = scriptedService('web');
		service.set([{ id: 'web-1', host: '127.0.0.1', port: await freePort() }]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, connectRetriesMax: 50 });
		await expect(send('http://web.spock/', { agent })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
		expect(service.outcomes()).toEqual(['failure', 'cancelled']);
	});
});

describe('an instance that hangs', () => {
	it('fails by the time-out of the caller, and is ejected when that has happened often enough', async () => {
		await using slow = await startInstance('web-1', { handle: () => undefined });
		await using web = await startInstance('web-2');
		await using service = scriptedService('web', { ejectAfterFailures: 2 });
		service.set([slow, web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		for (let turn = 0; turn < 12; turn++) {
			const { request, answer } = begin('http://web.spock/', { agent, timeout: 200 });
			request.on('timeout', () => request.destroy()).end();
			await answer.catch(() => undefined);
		}
		expect(service.diplomat.status().ejected).toMatchObject([{ instance: 'web-1' }]);
		expect(slow.requests).toBe(2);
		expect(service.calls.filter(({ outcome }) => outcome === 'failure')).toHaveLength(2);
		agent.destroy();
	});

	it('says nothing of it when the caller gives up for a reason of its own', async () => {
		await using slow = await startInstance('web-1', { handle: () => undefined });
		await using service = scriptedService('web');
		service.set([slow]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const stop = new AbortController();
		const { request, answer } = begin('http://web.spock/', { agent, signal: stop.signal });
		request.end();
		await waitFor('the request', () => slow.requests === 1);
		stop.abort();
		await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
		await waitFor('the release', () => service.open() === 0);
		expect(service.outcomes()).toEqual(['cancelled']);
		agent.destroy();
	});

	it('counts against it when the caller gave it so much time', async () => {
		await using slow = await startInstance('web-1', { handle: () => undefined });
		await using service = scriptedService('web');
		service.set([slow]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		await expect(send('http://web.spock/', { agent, signal: AbortSignal.timeout(20) })).rejects.toThrow();
		await waitFor('the release', () => service.open() === 0);
		expect(service.outcomes()).toEqual(['failure']);
		agent.destroy();
	});
});

describe('a caller that gives up before there is an instance or a connection', () => {
	it('while the service is not known', async () => {
		await using service = scriptedService('web');
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const request = requestHttp('http://web.spock/', { agent });
		request.end();
		const errors = errorsOf(request);
		request.destroy(new Error('enough'));
		expect(await errors).toMatchObject([{ message: 'enough' }]);
		expect(service.open()).toBe(0);
	});

	it('while it is being connected, or waits in the queue of Node', async () => {
		await using web = await startInstance('web-1', { handle: () => undefined });
		await using service = scriptedService('web');
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, maxSockets: 1 });
		const first = requestHttp('http://web.spock/', { agent });
		const queued = requestHttp('http://web.spock/', { agent });
		first.end();
		queued.end();
		const errors = [errorsOf(first), errorsOf(queued)];
		queued.destroy();
		expect(service.outcomes()).toEqual([undefined, 'cancelled']);
		first.destroy(new Error('enough'));
		expect(await errors[0]).toMatchObject([{ message: 'enough' }]);
		expect(await errors[1]).toMatchObject([{ code: 'ECONNRESET' }]);
		expect(service.outcomes()).toEqual(['cancelled', 'cancelled']);
		agent.destroy();
	});

	it('in the middle of the answer', async () => {
		await using web = await startInstance('web-1', { handle: (_request, response) => response.write('a part') });
		await using service = scriptedService('web');
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		for (const end of ['request', 'response', 'server'] as const) {
			const request = requestHttp('http://web.spock/', { agent });
			request.on('error', () => undefined).end();
			const [response] = await once(request, 'response');
			response.on('error', () => undefined).resume();
			if (end === 'request') request.destroy();
			if (end === 'response') response.destroy();
			if (end === 'server') for (const socket of web.sockets) socket.destroy();
			await once(request, 'close');
		}
		expect(service.outcomes()).toEqual(['cancelled', 'cancelled', 'failure']);
		agent.destroy();
	});
});
