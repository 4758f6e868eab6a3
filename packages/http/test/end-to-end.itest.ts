import { renameSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { join } from 'node:path';
import { connect, createDiplomat, type Diplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { DiscoveryAgent } from '@spock/http';
import { startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';
import { startInstances } from './http-instance.ts';
import { type Place, recordLeases } from './scripted-service.ts';
import { errorsOf, send } from './send.ts';

function writeServices(place: TempSocket, web: readonly Place[]): string {
	const file = join(place.directory, 'services.json');
	const services = {
		web: web.map(({ id, host, port }) => ({ id, host, port })),
		asleep: [{ host: '127.0.0.1', port: 1, status: 'critical' }],
	};
	// Renamed into place, as careful editors and config maps do.
	writeFileSync(`${file}.new`, JSON.stringify({ services }));
	renameSync(`${file}.new`, file);
	return file;
}

/** What an app does, wherever its services come from. */
async function useAgent(diplomat: Diplomat, requests: () => readonly number[]): Promise<void> {
	const calls = recordLeases(diplomat);
	const agent = new DiscoveryAgent({ diplomat });
	for (let turn = 0; turn < 9; turn++) await send('http://web.spock/', { agent });
	expect(requests()).toEqual([3, 3, 3]);
	for (const [host, code] of [
		['nobody', 'NO_SUCH_SERVICE'],
		['asleep', 'NO_HEALTHY_INSTANCE'],
	]) {
		const errors = await errorsOf(requestHttp(`http://${host}.spock/`, { agent }).end());
		expect(errors).toMatchObject([{ code, message: expect.stringContaining(`${host}`) }]);
	}
	expect(calls.filter(({ outcome }) => outcome === undefined)).toEqual([]);
	agent.destroy();
}

describe('DiscoveryAgent', () => {
	it('over a sidecar', async () => {
		await using web = await startInstances(3);
		await using place = await tempSocket();
		const args = ['--backend', 'local', '--services', writeServices(place, web)];
		await using _sidecar = await startSidecar(place.path, args);
		await using diplomat = await connect({ path: place.path });
		await useAgent(diplomat, () => web.map(({ requests }) => requests));
	});

	it('in direct mode', async () => {
		await using web = await startInstances(3);
		await using place = await tempSocket();
		const source = await localSource({ file: writeServices(place, web) });
		await using diplomat = createDiplomat({ source });
		await useAgent(diplomat, () => web.map(({ requests }) => requests));
	});

	it('goes on with what is known while the sidecar is away, and says so where nothing is known', async () => {
		await using web = await startInstances(3);
		await using place = await tempSocket();
		const args = ['--backend', 'local', '--services', writeServices(place, web)];
		await using first = await startSidecar(place.path, args);
		await using diplomat = await connect({ path: place.path, timeoutMs: 2000 });
		const agent = new DiscoveryAgent({ diplomat });
		await send('http://web.spock/', { agent });
		await first.stop('SIGKILL');
		await waitFor('the loss to be noticed', () => diplomat.pick('web')?.stale === true);
		for (let turn = 0; turn < 9; turn++) expect((await send('http://web.spock/', { agent })).status).toBe(200);
		for (const { requests } of web) expect(requests).toBeGreaterThanOrEqual(3);
		const errors = await errorsOf(requestHttp('http://other.spock/', { agent }).end());
		expect(errors).toMatchObject([
			{ name: 'SpockError', message: expect.stringContaining('"other"'), retryable: true },
		]);
		await using _second = await startSidecar(place.path, args);
		await waitFor(
			'a live answer',
			() => diplomat.pick('web') !== undefined && diplomat.pick('web')?.stale === undefined,
		);
		expect((await send('http://web.spock/', { agent })).status).toBe(200);
		agent.destroy();
	});

	it('where the sidecar picks, it is asked for each request', async () => {
		await using web = await startInstances(3);
		await using place = await tempSocket();
		const args = ['--backend', 'local', '--services', writeServices(place, web)];
		await using _sidecar = await startSidecar(place.path, args);
		await using diplomat = await connect({ path: place.path, lookups: 'remote' });
		await useAgent(diplomat, () => web.map(({ requests }) => requests));
	});

	it('connections are closed when an edit takes their instance away', async () => {
		await using web = await startInstances(2);
		await using place = await tempSocket();
		const args = ['--backend', 'local', '--services', writeServices(place, web)];
		await using _sidecar = await startSidecar(place.path, args);
		await using diplomat = await connect({ path: place.path });
		const agent = new DiscoveryAgent({ diplomat, idleTimeoutMs: 60_000, agentKeepAliveTimeoutBuffer: 0 });
		for (const { server } of web) server.keepAliveTimeout = 60_000;
		for (let turn = 0; turn < 4; turn++) await send('http://web.spock/', { agent });
		expect(web.map(({ sockets }) => sockets.size)).toEqual([1, 1]);
		writeServices(place, web.slice(1));
		await waitFor('the end of its connection', () => web[0]?.sockets.size === 0);
		expect(web[1]?.sockets.size).toBe(1);
		agent.destroy();
	});
});
