import { join } from 'node:path';

import { connect } from '@spock/client';
import { findConsul, runSidecar, startConsul, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { replayed, seen } from './recorded.ts';

it('a record of a real Consul, an outage among it, is replayed as readers have seen it', async () => {
	await using consul = await startConsul({ binary: findConsul(process.env), mode: 'server' });
	await using place = await tempSocket();
	const file = join(place.directory, 'record.ndjson');
	const register = (id: string, port: number): Promise<void> =>
		consul.put('/v1/agent/service/register', { ID: id, Name: 'barista', Address: '1.2.3.4', Port: port });
	await register('b1', 80);
	await using _sidecar = await startSidecar(place.path, ['--consul', consul.url, '--empty-hold-ms', '0']);
	await using diplomat = await connect({ path: place.path });
	const told: string[] = [];
	const watching = (async () => {
		for await (const snapshot of diplomat.watchService('barista')) told.push(seen(snapshot));
	})();
	await waitFor('the first snapshot', () => told.length === 1);
	await using recorder = runSidecar(['record', file, '--service', 'barista', '--socket', place.path]);
	await waitFor('the recorder', () => recorder.stdout().includes('recording into'));
	const after = async (what: string, change: () => Promise<unknown>): Promise<void> => {
		const before = told.length;
		await change();
		await waitFor(what, () => told.length > before);
	};
	await after('one more', () => register('b2', 81));
	await after('another port', () => register('b2', 82));
	await after('the outage', () => consul.kill());
	expect(JSON.parse(told.at(-1) as string)).toMatchObject({ source: 'last-known-good' });
	await after('its end', () => consul.restart());
	await after('one less', () => consul.put('/v1/agent/service/deregister/b1'));
	// The recorder is another client, and may be told later.
	await waitFor('the last of it on disk', async () => (await replayed(file, 'barista')).length >= told.length);
	await recorder.stop('SIGINT');
	await diplomat.close();
	await watching;
	expect(await replayed(file, 'barista')).toEqual(told);
});
