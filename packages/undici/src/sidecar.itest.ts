import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type Client, clients, ready } from '../test/clients.ts';
import { startInstances, type TestInstance } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';

const URL = 'http://barista.spock/';
const [client = expect.unreachable()] = clients;

function write(directory: string, instances: readonly TestInstance[]): string {
	const file = join(directory, 'services.json');
	const barista = instances.map(({ name, host, port }) => ({ id: name, host, port }));
	writeFileSync(`${file}.new`, JSON.stringify({ services: { barista } }));
	renameSync(`${file}.new`, file);
	return file;
}

async function names(by: Client, dispatcher: ReturnType<typeof ready>, count: number): Promise<string[]> {
	const texts: string[] = [];
	for (let turn = 0; turn < count; turn++) texts.push((await by.get(URL, { dispatcher })).text);
	return texts.sort();
}

describe('over a sidecar', () => {
	it('requests find their instances, and go on when the sidecar is killed', async () => {
		await using place = await tempSocket();
		await using instances = await startInstances(2);
		const file = write(place.directory, instances);
		const sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file]);
		await using diplomat = createDiplomat({ path: place.path });
		const ledger = new LeaseLedger(diplomat);
		const dispatcher = ready(client, diplomat);
		const both = ['web-1', 'web-1', 'web-2', 'web-2'];
		expect(await names(client, dispatcher, 4)).toEqual(both);
		await sidecar.stop('SIGKILL');
		await waitFor('the loss', () => diplomat.status().state !== 'ready');
		expect(await names(client, dispatcher, 4)).toEqual(both);
		expect(ledger.open).toBe(0);
		await dispatcher.close();
	});

	it('with no sidecar and nothing known, a request fails within the time-out', async () => {
		await using place = await tempSocket();
		await using diplomat = createDiplomat({ path: place.path, timeoutMs: 100 });
		const dispatcher = ready(client, diplomat);
		const failed = client.get(URL, { dispatcher });
		await expect(failed).rejects.toMatchObject({
			cause: { code: 'TIMEOUT', message: expect.stringContaining('barista') },
		});
		await dispatcher.close();
	});

	it('a request that the caller aborts while nothing is known ends at once', async () => {
		await using place = await tempSocket();
		await using diplomat = createDiplomat({ path: place.path });
		for (const each of clients) {
			const dispatcher = ready(each, diplomat);
			const abort = new AbortController();
			const failed = each.get(URL, { dispatcher, signal: abort.signal });
			abort.abort();
			await expect(failed).rejects.toMatchObject({ name: 'AbortError' });
			await dispatcher.destroy();
		}
	});
});

describe('in direct mode', () => {
	it('requests find their instances in a file, and follow it', async () => {
		await using place = await tempSocket();
		await using instances = await startInstances(2);
		const file = write(place.directory, instances.slice(0, 1));
		await using diplomat = createDiplomat({ source: await localSource({ file }) });
		const dispatcher = ready(client, diplomat);
		expect(await names(client, dispatcher, 2)).toEqual(['web-1', 'web-1']);
		write(place.directory, instances.slice(1));
		await waitFor('the other instance', async () => (await names(client, dispatcher, 1))[0] === 'web-2');
		await waitFor('the end of the connections', () => instances[0]?.sockets.size === 0);
		await dispatcher.close();
	});
});
