import { connect, type ServiceSnapshot } from '@spock/client';
import { consulSource } from '@spock/discovery';
import { findConsul, startConsul, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const binary = findConsul(process.env);

describe('a fallback on a real Consul', () => {
	it('answers the first lookup of a new service while the sidecar is dead; then the next sidecar’s pushes take over', async () => {
		await using consul = await startConsul({ binary });
		const register = (name: string, port: number): Promise<void> =>
			consul.put('/v1/agent/service/register', { ID: name, Name: name, Address: '10.0.0.1', Port: port });
		await register('barista', 80);
		await register('waiter', 81);
		await using place = await tempSocket();
		const args = ['--backend', 'consul', '--consul', consul.url];
		await using sidecar = await startSidecar(place.path, args);
		let made = 0;
		const fallback = () => {
			made++;
			return consulSource({ addresses: [consul.url] });
		};
		await using diplomat = await connect({ path: place.path, fallback });
		expect(await diplomat.getService('barista')).toMatchObject({ port: 80 });
		expect(made).toBe(0);

		await sidecar.stop('SIGKILL');
		expect(await diplomat.getService('waiter')).toEqual({ host: '10.0.0.1', port: 81, instance: 'test/waiter' });
		expect(made).toBe(1);
		expect(diplomat.status().fallback).toEqual({ source: 'consul', services: 1 });
		// The one that the sidecar had told of is the sidecar's, and says that it is old.
		expect(await diplomat.getService('barista')).toMatchObject({ port: 80, stale: true });
		const seen: ServiceSnapshot[] = [];
		const stop = new AbortController();
		const watching = (async () => {
			for await (const snapshot of diplomat.watchService('waiter', { signal: stop.signal })) seen.push(snapshot);
		})();
		await register('waiter', 82);
		await waitFor('the change through the fallback', () => diplomat.pick('waiter')?.port === 82);

		await using _next = await startSidecar(place.path, args);
		await waitFor('the end of the fallback', () => diplomat.status().fallback?.services === 0);
		await register('waiter', 83);
		await waitFor('the push of the next sidecar', () => diplomat.pick('waiter')?.port === 83);
		await waitFor('the push to the watch', () => seen.at(-1)?.instances[0]?.port === 83);
		expect(await diplomat.getService('waiter')).not.toHaveProperty('stale');
		expect(seen.every(({ instances }) => instances.length === 1)).toBe(true);
		stop.abort();
		await watching;
	});
});
