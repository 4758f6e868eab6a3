import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { findConsul, runSidecar, startConsul, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const binary = findConsul(process.env);

describe('consul,local on a real Consul', () => {
	it('keeps the instances of a dead Consul, and changes over only when it says that they are gone', async () => {
		await using consul = await startConsul({ binary, mode: 'server' });
		const barista = { ID: 'b1', Name: 'barista', Address: '10.0.0.1', Port: 80 };
		await consul.put('/v1/agent/service/register', barista);
		await using place = await tempSocket();
		const file = join(place.directory, 'services.json');
		const here = [{ host: '10.9.9.9', port: 99 }];
		writeFileSync(file, JSON.stringify({ services: { barista: here, waiter: here } }));
		// The shortest time: a question that nobody asks for a moment is a new one.
		const args = ['--backend', 'consul,local', '--consul', consul.url, '--services', file, '--idle-ttl-ms', '1'];
		await using _sidecar = await startSidecar(place.path, args);
		await using diplomat = await connect({ path: place.path });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1' });
		expect(await diplomat.getService('waiter')).toMatchObject({ host: '10.9.9.9' });
		// As another client, which leaves again.
		const ask = async (): Promise<string> => {
			await using get = runSidecar(['get', 'barista', '--tag', 'none', '--socket', place.path]);
			return (await get.finished).stderr;
		};
		expect(await ask()).toContain('NO_SUCH_SERVICE');

		await consul.kill();
		await waitFor('the age', async () => (await diplomat.getService('barista')).stale === true);
		for (let turn = 0; turn < 20; turn++) {
			expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1', stale: true });
			expect(await diplomat.getService('waiter')).toMatchObject({ host: '10.9.9.9' });
		}
		// Neither knew it, and one cannot say so now.
		expect(await ask()).toContain('UNAVAILABLE');

		await consul.restart();
		await waitFor('Consul to be back', async () => (await diplomat.getService('barista')).stale === undefined);
		expect(await diplomat.getService('barista')).toMatchObject({ host: '10.0.0.1' });
		await consul.put('/v1/agent/service/deregister/b1');
		await waitFor('the other one', () => diplomat.pick('barista')?.host === '10.9.9.9', 60_000);
		await consul.put('/v1/agent/service/register', barista);
		await waitFor('the first one', () => diplomat.pick('barista')?.host === '10.0.0.1');
	});
});
