import { Agent, get } from 'node:http';

import { DiscoveryAgent, discoveryLookup } from '@spock/http';
import { waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { type Echo, startInstance, startInstances } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { send } from './send.ts';

it('each request goes to another instance, over connections that are kept', async () => {
	await using web = await startInstances(3);
	await using service = scriptedService('web');
	service.set(web);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat });
	for (let turn = 0; turn < 30; turn++) await send('http://web.spock/', { agent });
	expect(web.map(({ requests }) => requests)).toEqual([10, 10, 10]);
	expect(web.map(({ connections }) => connections)).toEqual([1, 1, 1]);
	expect(service.shares()).toEqual({ 'web-1': 10, 'web-2': 10, 'web-3': 10 });
	expect(service.open()).toBe(0);
	expect(service.calls.every(({ durationMs }) => durationMs !== undefined && durationMs >= 0)).toBe(true);
	agent.destroy();
});

it('a hook of the connection, such as lookup, stays with one instance where connections are kept', async () => {
	await using first = await startInstance('web-1', { host: '127.0.0.1' });
	await using second = await startInstance('web-2', { host: '127.0.0.2', port: first.port });
	await using service = scriptedService('web');
	service.set([first, second]);
	const agent = new Agent({ keepAlive: true });
	const lookup = discoveryLookup({ diplomat: service.diplomat });
	for (let turn = 0; turn < 20; turn++) await send(`http://web.spock:${first.port}/`, { agent, lookup });
	expect([first.requests, second.requests].sort((a, b) => a - b)).toEqual([0, 20]);
	agent.destroy();
});

it('other hosts, and sockets in the file system, are left alone', async () => {
	await using web = await startInstance('web-1');
	await using service = scriptedService('web');
	service.set([]);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat });
	const { body } = await send(`http://127.0.0.1:${web.port}/`, { agent });
	expect(JSON.parse(body)).toMatchObject({ id: 'web-1', host: `127.0.0.1:${web.port}` });
	await expect(send('http://web.spock/', { agent, socketPath: '/nowhere.sock' })).rejects.toMatchObject({
		code: 'ENOENT',
	});
	expect(service.calls).toEqual([]);
	agent.destroy();
});

it('the first request waits until the service is known, however its body was written', async () => {
	await using web = await startInstance('web-1');
	for (const [what, body] of [
		['text', 'a cup'],
		['bytes', Buffer.from('a cup')],
		['nothing', undefined],
	] as const) {
		await using service = scriptedService('web');
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const answer = send('http://web.spock/', { agent, method: 'POST' }, body);
		service.set([web]);
		const echo = JSON.parse((await answer).body) as Echo;
		expect([what, echo]).toEqual([
			what,
			{ id: 'web-1', method: 'POST', host: `127.0.0.1:${web.port}`, body: String(body ?? '') },
		]);
		agent.destroy();
	}
});

it('the Host header is the instance, or the name if that is wanted, or what the caller has set', async () => {
	await using web = await startInstance('web-1');
	await using service = scriptedService('web');
	service.set([web]);
	const hostOf = async (keepHost: boolean, headers: Record<string, string> = {}): Promise<string> => {
		const agent = new DiscoveryAgent({ diplomat: service.diplomat, keepHost });
		const { body } = await send('http://web.spock/', { agent, headers });
		agent.destroy();
		return (JSON.parse(body) as Echo).host;
	};
	expect(await hostOf(false)).toBe(`127.0.0.1:${web.port}`);
	expect(await hostOf(true)).toBe('web.spock');
	expect(await hostOf(false, { hOST: 'mine' })).toBe('mine');
});

it('an answer that nobody reads is discarded, and its lease released', async () => {
	await using web = await startInstance('web-1');
	await using service = scriptedService('web');
	service.set([web]);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat });
	get('http://web.spock/', { agent });
	await waitFor('the release', () => service.calls.length === 1 && service.open() === 0);
	expect(service.outcomes()).toEqual(['success']);
	agent.destroy();
});

it('the port of a URL is not asked for: the registry knows it', async () => {
	await using web = await startInstance('web-1');
	await using service = scriptedService('web');
	service.set([web]);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat });
	expect((await send('http://web.spock:1/', { agent })).status).toBe(200);
	agent.destroy();
});

it('a service is watched while there are connections to it, and no longer', async () => {
	await using web = await startInstance('web-1');
	await using service = scriptedService('web');
	service.set([web]);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat });
	await send('http://web.spock/', { agent });
	// One is of the client, for its look-ups.
	await waitFor('the watch', () => service.watchers === 2);
	agent.destroy();
	await waitFor('its end', () => service.watchers === 1);
});
