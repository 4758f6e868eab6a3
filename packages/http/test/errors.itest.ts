import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';

import { createDiplomat, SpockError } from '@spock/client';
import { DiscoveryAgent, DiscoveryHttpsAgent, discoveryLookup } from '@spock/http';
import { freePort, tempSocket } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { startInstance } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { errorsOf } from './send.ts';

describe('errors that are emitted once, and say which service', () => {
	it('an unknown service', async () => {
		await using service = scriptedService('web');
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://nobody.spock/', { agent }).end());
		expect(errors).toMatchObject([{ code: 'NO_SUCH_SERVICE', message: expect.stringContaining('"nobody"') }]);
		expect(SpockError.is(errors[0])).toBe(true);
	});

	it('no healthy instance', async () => {
		await using service = scriptedService('web');
		service.set([{ id: 'web-1', host: '127.0.0.1', port: 1, status: 'critical' }]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://web.spock/', { agent }).end());
		expect(errors).toMatchObject([{ code: 'NO_HEALTHY_INSTANCE', message: expect.stringContaining('"web"') }]);
	});

	it('a host name that cannot be a service', async () => {
		await using service = scriptedService('web');
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://v1.web.spock/', { agent }).end('a body'));
		expect(errors).toMatchObject([{ code: 'BAD_REQUEST', message: expect.stringContaining('v1.web.spock') }]);
	});

	it('nothing known within the time-out of the request', async () => {
		await using service = scriptedService('web');
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://web.spock/', { agent, timeout: 20 }).end());
		expect(errors).toMatchObject([{ code: 'TIMEOUT', message: expect.stringContaining('"web"') }]);
		expect(SpockError.is(errors[0])).toBe(true);
	});

	it('a client that has ended', async () => {
		await using service = scriptedService('web');
		await service.diplomat.close();
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://web.spock/', { agent }).end());
		expect(errors).toMatchObject([{ code: 'CLOSED', message: expect.stringContaining('"web"') }]);
		const lookedUp = new Promise((resolve) => discoveryLookup({ diplomat: service.diplomat })('web.spock', resolve));
		expect(await lookedUp).toMatchObject({ code: 'CLOSED', message: expect.stringContaining('"web"') });
	});

	it('a sidecar that is away, and a client that has ended before it was there', async () => {
		await using place = await tempSocket();
		const diplomat = createDiplomat({ path: join(place.directory, 'nobody.sock'), timeoutMs: 100 });
		const agent = new DiscoveryAgent({ diplomat });
		const lookup = discoveryLookup({ diplomat });
		for (const code of ['TIMEOUT', 'CLOSED']) {
			const named = { code, message: expect.stringContaining('"orders-db"'), details: { service: 'orders-db' } };
			const errors = await errorsOf(requestHttp('http://orders-db.spock/', { agent }).end());
			expect(errors).toMatchObject([named]);
			for (const options of [{}, { all: true }, { family: 6 }]) {
				const lookedUp = new Promise((resolve) => lookup('orders-db.spock', options, resolve));
				expect(await lookedUp).toMatchObject(named);
			}
			await diplomat.close();
		}
	});

	it('a list of the other instances that does not come: the name is in the error of a lookup', async () => {
		await using service = scriptedService('web');
		service.set([{ id: 'web-1', host: '127.0.0.1', port: 1 }]);
		service.diplomat.getInstances = () => Promise.reject(new SpockError('TIMEOUT', 'no answer'));
		const lookedUp = new Promise((resolve) => {
			discoveryLookup({ diplomat: service.diplomat })('web.spock', { all: true }, resolve);
		});
		expect(await lookedUp).toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('"web"') });
	});

	it('a source that throws where it is watched: the request fails, and the call does not throw', async () => {
		await using service = scriptedService('web');
		const thrown = () => {
			throw new Error('a broken source');
		};
		service.diplomat.tryAcquire = thrown;
		service.diplomat.acquire = async () => thrown();
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://web.spock/', { agent }).end());
		expect(errors).toMatchObject([
			{ message: expect.stringContaining('"web"'), cause: { cause: { message: 'a broken source' } } },
		]);
	});

	it('a function for the server name that throws', async () => {
		await using service = scriptedService('web');
		service.set([{ id: 'web-1', host: '127.0.0.1', port: 1 }]);
		const servername = () => {
			throw new TypeError('no such tenant');
		};
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, servername });
		const errors = await errorsOf(requestHttps('https://web.spock/', { agent }).end());
		expect(errors).toMatchObject([{ name: 'TypeError', message: expect.stringMatching(/"web".*: no such tenant$/) }]);
		expect(service.outcomes()).toEqual(['cancelled']);
	});

	it('no instance to be connected to: the last one is named, and how it failed', async () => {
		await using service = scriptedService('web');
		const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
		service.set(ports.map((port, index) => ({ id: `web-${index + 1}`, host: '127.0.0.1', port })));
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://web.spock/', { agent, method: 'POST' }).end('a body'));
		expect(errors).toMatchObject([
			{
				code: 'UNAVAILABLE',
				message: expect.stringMatching(/^the instance "web-\d" \(127\.0\.0\.1:\d+\) of "web": connect ECONNREFUSED/),
				cause: { code: 'ECONNREFUSED' },
			},
		]);
		expect(service.outcomes()).toEqual(['failure', 'failure', 'failure']);
	});

	it('an instance that hangs up without an answer: the error of Node, and the instance as its cause', async () => {
		await using web = await startInstance('web-1', { handle: (request) => request.socket.destroy() });
		await using service = scriptedService('web');
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const errors = await errorsOf(requestHttp('http://web.spock/', { agent }).end());
		expect(errors).toMatchObject([
			{
				code: 'ECONNRESET',
				message: expect.stringMatching(/^the instance "web-1" \(127\.0\.0\.1:\d+\) of "web": socket hang up$/),
				cause: { code: 'UNAVAILABLE', details: { service: 'web', instance: 'web-1' } },
			},
		]);
		expect(service.outcomes()).toEqual(['failure']);
		agent.destroy();
	});
});
