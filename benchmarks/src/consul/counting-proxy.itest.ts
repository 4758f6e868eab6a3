import { Agent, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { bareGet } from './bare-query.ts';
import { CountingProxy } from './counting-proxy.ts';

const server = createServer((_request, response) => {
	response.setHeader('x-consul-index', '7');
	response.end('[{"Service":{"Port":1}}]');
});

describe('the counting proxy', () => {
	afterEach(() => new Promise((resolve) => server.close(resolve)));

	it('passes queries on, and counts them, their connections and their bytes', async () => {
		await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
		const { port } = server.address() as AddressInfo;
		await using proxy = await CountingProxy.start(`http://127.0.0.1:${port}`);
		const agent = new Agent({ keepAlive: true, maxSockets: 2 });
		await bareGet(`${proxy.url}/before`, agent);
		proxy.reset();
		const asks = Array.from({ length: 6 }, (_, number) => bareGet(`${proxy.url}/v1/${number}`, agent));
		for (const { headers, entries } of await Promise.all(asks)) {
			expect(headers['x-consul-index']).toBe('7');
			expect(entries).toEqual([{ Service: { Port: 1 } }]);
		}
		const { seconds, connections, queriesAMinute, kilobytesAMinute } = proxy.traffic();
		expect(Math.round((queriesAMinute * seconds) / 60)).toBe(6);
		expect(connections).toBe(2);
		const bytesEach = (kilobytesAMinute * 1024 * seconds) / 60 / 6;
		expect(bytesEach).toBeGreaterThan(100);
		expect(bytesEach).toBeLessThan(1000);
		agent.destroy();
	});
});
