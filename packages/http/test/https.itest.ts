import { once } from 'node:events';
import { request as requestHttps } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import type { TLSSocket } from 'node:tls';

import { DiscoveryHttpsAgent } from '@spock/http';
import { makeAuthority } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { startInstance, startInstances } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { errorsOf, send } from './send.ts';

const authority = makeAuthority();
const { ca } = authority;

describe('https', () => {
	it('each request goes to another instance, whose certificate is for its address', async () => {
		await using web = await startInstances(3, { certificate: authority.issue() });
		await using service = scriptedService('web');
		service.set(web);
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca });
		for (let turn = 0; turn < 12; turn++) {
			const { body } = await send('https://web.spock/', { agent, method: 'POST' }, 'a body');
			const { id, host } = JSON.parse(body) as { id: string; host: string };
			expect(host).toBe(`127.0.0.1:${web.find((one) => one.id === id)?.port}`);
		}
		expect(web.map(({ requests }) => requests)).toEqual([4, 4, 4]);
		expect(web.map(({ connections }) => connections)).toEqual([1, 1, 1]);
		agent.destroy();
	});

	it('asks for the server name that is wanted, and checks the certificate against it', async () => {
		await using web = await startInstance('web-1', { certificate: authority.issue({ names: ['web.example'] }) });
		await using service = scriptedService('web');
		service.set([web]);
		const named: unknown[] = [];
		web.server.on('secureConnection', (socket: TLSSocket) => named.push(socket.servername));
		for (const servername of ['web.example', ({ service: name }: { service: string }) => `${name}.example`] as const) {
			const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca, servername });
			expect((await send('https://web.spock/', { agent })).status).toBe(200);
			agent.destroy();
		}
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca });
		expect((await send('https://web.spock/', { agent, ...{ servername: 'web.example' } })).status).toBe(200);
		expect(named).toEqual(['web.example', 'web.example', 'web.example']);
		agent.destroy();
	});

	it('the name in the Host header is not the server name, unless it is wanted', async () => {
		await using web = await startInstance('web-1', { certificate: authority.issue() });
		await using service = scriptedService('web');
		service.set([{ ...web, host: 'localhost' }]);
		const named: unknown[] = [];
		web.server.on('secureConnection', (socket: TLSSocket) => named.push(socket.servername));
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca, keepHost: true });
		const { body } = await send('https://web.spock/', { agent });
		expect(JSON.parse(body)).toMatchObject({ host: 'web.spock' });
		expect(named).toEqual(['localhost']);
		agent.destroy();
	});

	it('a certificate for somebody else, or of nobody who is trusted, is an error that names the instance', async () => {
		await using web = await startInstance('web-1', { certificate: authority.issue({ names: ['other.example'] }) });
		await using service = scriptedService('web');
		service.set([web]);
		for (const [trusted, code] of [
			[ca, 'ERR_TLS_CERT_ALTNAME_INVALID'],
			[makeAuthority('nobody').ca, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
		]) {
			const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca: trusted });
			await expect(send('https://web.spock/', { agent })).rejects.toMatchObject({
				code: 'UNAVAILABLE',
				message: expect.stringContaining('the instance "web-1"'),
				cause: { code },
			});
		}
		expect(service.open()).toBe(0);
	});

	it('an instance that speaks no TLS is an error that says so', async () => {
		await using plain = await startInstance('web-1');
		await using service = scriptedService('web');
		service.set([plain]);
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca });
		await expect(send('https://web.spock/', { agent })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: expect.stringMatching(/^the instance "web-1" \(.*\) of "web": it does not speak TLS on this port/),
			cause: { code: 'ERR_SSL_WRONG_VERSION_NUMBER' },
		});
	});

	it('an instance that speaks no TLS, or never answers the handshake, is passed over', async () => {
		await using plain = await startInstance('web-1');
		const mute = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
		await once(mute, 'listening');
		await using web = await startInstance('web-3', { certificate: authority.issue() });
		await using service = scriptedService('web');
		service.set([plain, { id: 'web-2', host: '127.0.0.1', port: (mute.address() as AddressInfo).port }, web]);
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca, connectTimeoutMs: 500 });
		for (let turn = 0; turn < 3; turn++) {
			const { body } = await send('https://web.spock/', { agent, method: 'POST' }, 'a body');
			expect(JSON.parse(body)).toMatchObject({ id: 'web-3', body: 'a body' });
		}
		const failed = service.calls.filter(({ outcome }) => outcome === 'failure').map(({ instance }) => instance);
		expect(new Set(failed)).toEqual(new Set(['web-1', 'web-2']));
		agent.destroy();
		mute.close();
	});

	it('a caller whose time is up while it is connected to ends it then, and that counts against the instance', async () => {
		const mute = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
		await once(mute, 'listening');
		await using service = scriptedService('web');
		service.set([{ id: 'web-1', host: '127.0.0.1', port: (mute.address() as AddressInfo).port }]);
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca, connectTimeoutMs: 120_000 });
		const request = requestHttps('https://web.spock/', { agent, timeout: 100 }).end();
		request.on('timeout', () => request.destroy(new Error('enough')));
		expect(await errorsOf(request)).toMatchObject([{ message: 'enough' }]);
		expect(service.outcomes()).toEqual(['failure']);
		agent.destroy();
		mute.close();
	});

	it('a session of TLS is taken up again with its own instance', async () => {
		await using web = await startInstance('web-1', { certificate: authority.issue() });
		await using service = scriptedService('web');
		service.set([web]);
		const reused: boolean[] = [];
		web.server.on('secureConnection', (socket: TLSSocket) => reused.push(socket.isSessionReused()));
		const agent = new DiscoveryHttpsAgent({ diplomat: service.diplomat, ca, keepAlive: false });
		for (let turn = 0; turn < 3; turn++) await send('https://web.spock/', { agent });
		expect(reused[0]).toBe(false);
		expect(reused.slice(1)).toContain(true);
	});
});
