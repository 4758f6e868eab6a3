import dns, { type LookupAddress, V4MAPPED } from 'node:dns';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';

import { DiscoveryAgent, type DiscoveryLookup, discoveryLookup } from '@spock/http';
import { waitFor } from '@spock/testkit';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { startInstance } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { send } from './send.ts';

type LookUp = (host: string, options: object, done: (error: null, found: readonly LookupAddress[]) => void) => void;
// On the module itself: other files of this process have loaded what imports it.
const lookup = dns.lookup as unknown as LookUp;
const lookedUp = vi.spyOn(dns as unknown as { lookup: LookUp }, 'lookup');
syncBuiltinESMExports();
beforeEach(() => {
	lookedUp.mockReset().mockImplementation(lookup);
});
afterAll(() => {
	lookedUp.mockRestore();
	syncBuiltinESMExports();
});

describe('hosts of instances', () => {
	it('an IPv6 address has brackets in the Host header, and none where it is connected to', async () => {
		await using web = await startInstance('web-1', { host: '::1' });
		await using service = scriptedService('web');
		service.set([web]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		const { body } = await send('http://web.spock/', { agent });
		expect(JSON.parse(body)).toMatchObject({ host: `[::1]:${web.port}` });
		await web.stop();
		await expect(send('http://web.spock/', { agent })).rejects.toMatchObject({
			message: expect.stringContaining(`[::1]:${web.port}`),
		});
		agent.destroy();
	});

	it('a DNS name is looked up, and passed over where there is no such name', async () => {
		await using web = await startInstance('web-1');
		await using service = scriptedService('web');
		service.set([
			{ ...web, host: 'localhost' },
			{ id: 'web-2', host: 'nowhere.invalid', port: 80 },
		]);
		const agent = new DiscoveryAgent({ diplomat: service.diplomat });
		for (let turn = 0; turn < 4; turn++) {
			const { body } = await send('http://web.spock/', { agent });
			expect(JSON.parse(body)).toMatchObject({ id: 'web-1', host: `localhost:${web.port}` });
		}
		agent.destroy();
	});
});

interface Looked {
	readonly address: unknown;
	readonly family: number | undefined;
}

function call(lookup: DiscoveryLookup, hostname: string, ...rest: unknown[]): Promise<Looked> {
	return new Promise((resolve, reject) => {
		const callback = (error: Error | null, address?: unknown, family?: number): void => {
			if (error === null) resolve({ address, family });
			else reject(error);
		};
		Reflect.apply(lookup, undefined, [hostname, ...rest, callback]);
	});
}

describe('discoveryLookup', () => {
	it('answers in each form of dns.lookup', async () => {
		await using service = scriptedService('web');
		service.set([
			{ id: 'web-1', host: '127.0.0.1', port: 1 },
			{ id: 'web-2', host: '127.0.0.2', port: 1 },
			{ id: 'web-3', host: '127.0.0.3', port: 1, status: 'critical' },
		]);
		const lookup = discoveryLookup({ diplomat: service.diplomat });
		const first = { address: expect.stringMatching(/^127\.0\.0\.[12]$/), family: 4 };
		expect(await call(lookup, 'web.spock')).toEqual(first);
		expect(await call(lookup, 'web.spock', 4)).toEqual(first);
		expect(await call(lookup, 'web.spock', {})).toEqual(first);
		expect(await call(lookup, 'web.spock', { family: 'IPv4' })).toEqual(first);
		const { address: all } = (await call(lookup, 'web.spock', { all: true })) as { address: { address: string }[] };
		expect(all.map(({ address }) => address).sort()).toEqual(['127.0.0.1', '127.0.0.2']);
		const firsts = new Set<string | undefined>();
		for (let turn = 0; turn < 4; turn++) {
			const { address } = (await call(lookup, 'web.spock', { all: true })) as { address: { address: string }[] };
			firsts.add(address[0]?.address);
		}
		expect(firsts.size).toBe(2);
	});

	it('heeds the family, and maps IPv4 where that is asked for', async () => {
		await using service = scriptedService('web');
		service.set([
			{ id: 'web-1', host: '127.0.0.1', port: 1 },
			{ id: 'web-2', host: '::1', port: 1 },
		]);
		const lookup = discoveryLookup({ diplomat: service.diplomat });
		for (let turn = 0; turn < 4; turn++) {
			expect(await call(lookup, 'web.spock', { family: 6 })).toEqual({ address: '::1', family: 6 });
			expect(await call(lookup, 'web.spock', 4)).toEqual({ address: '127.0.0.1', family: 4 });
		}
		service.set([{ id: 'web-1', host: '127.0.0.1', port: 1 }]);
		expect(await call(lookup, 'web.spock', { family: 6, hints: V4MAPPED })).toEqual({
			address: '::ffff:127.0.0.1',
			family: 6,
		});
		await expect(call(lookup, 'web.spock', { family: 6 })).rejects.toMatchObject({
			code: 'UNAVAILABLE',
			message: 'no instance of "web" has an IPv6 address: 127.0.0.1',
		});
	});

	it('gives all in a panic, where none is healthy and each gets work', async () => {
		await using service = scriptedService('web');
		const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
		const places = hosts.map((host, index) => ({ id: `web-${index}`, host, port: 1, status: 'critical' as const }));
		service.set(places, { panic: true });
		const lookup = discoveryLookup({ diplomat: service.diplomat });
		const { address: all } = (await call(lookup, 'web.spock', { all: true })) as { address: { address: string }[] };
		expect(all.map(({ address }) => address).sort()).toEqual(hosts);
	});

	it('looks names up together, each once, and keeps their order', async () => {
		await using service = scriptedService('web');
		const names = ['a.test', 'b.test', 'c.test', 'a.test'];
		service.set(names.map((host, index) => ({ id: `web-${index}`, host, port: index + 1 })));
		const asked = new Map<string, () => void>();
		lookedUp.mockImplementation((host, _options, done) => {
			const address = `127.0.0.${host.charCodeAt(0)}`;
			asked.set(host, () => done(null, [{ address, family: 4 }]));
		});
		const looked = call(discoveryLookup({ diplomat: service.diplomat }), 'web.spock', { all: true });
		await waitFor('all three questions', () => asked.size === 3);
		// The answers come in another order than the questions.
		const order = [...asked.keys()].map((host) => `127.0.0.${host.charCodeAt(0)}`);
		for (const answer of [...asked.values()].reverse()) answer();
		const { address: all } = (await looked) as { address: { address: string }[] };
		expect(all.map(({ address }) => address)).toEqual(order);
		expect(lookedUp).toHaveBeenCalledTimes(3);
	});

	it('leaves other hosts to dns.lookup, and looks names of instances up there', async () => {
		await using service = scriptedService('web');
		service.set([{ id: 'web-1', host: 'localhost', port: 1 }]);
		const lookup = discoveryLookup({ diplomat: service.diplomat });
		expect(await call(lookup, 'localhost', { family: 4 })).toEqual({ address: '127.0.0.1', family: 4 });
		expect(await call(lookup, 'web.spock', { family: 4 })).toEqual({ address: '127.0.0.1', family: 4 });
		expect(await call(lookup, '10.1.2.3', { all: true })).toEqual({
			address: [{ address: '10.1.2.3', family: 4 }],
			family: undefined,
		});
		await expect(call(lookup, 'nowhere.invalid')).rejects.toMatchObject({ syscall: 'getaddrinfo' });
	});

	it('gives the errors of the client, and of hosts that name no service', async () => {
		await using service = scriptedService('web');
		service.set([]);
		const lookup = discoveryLookup({ diplomat: service.diplomat });
		await expect(call(lookup, 'nobody.spock')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await expect(call(lookup, 'a.b.spock')).rejects.toMatchObject({ code: 'BAD_REQUEST' });
		expect(() => Reflect.apply(lookup, undefined, ['web.spock'])).toThrow(TypeError);
	});

	it('is what net.connect takes, with and without its race of address families', async () => {
		await using web = await startInstance('web-1');
		await using service = scriptedService('web');
		service.set([web]);
		const lookup = discoveryLookup({ diplomat: service.diplomat });
		for (const autoSelectFamily of [true, false]) {
			const socket = connect({ host: 'web.spock', port: web.port, lookup, autoSelectFamily });
			await once(socket, 'connect');
			expect(socket.remoteAddress).toBe('127.0.0.1');
			socket.destroy();
		}
		const socket = connect({ host: 'nobody.spock', port: web.port, lookup });
		const [error] = await once(socket, 'close').then(
			() => [undefined],
			(reason: unknown) => [reason],
		);
		expect(error).toMatchObject({ code: 'NO_SUCH_SERVICE' });
	});
});
