import { connect } from '@spock/client';
import type { ServiceSnapshot } from '@spock/protocol';
import {
	findConsul,
	type RealConsul,
	runSidecar,
	startConsul,
	startSidecar,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

const binary = findConsul(process.env);

const register = (consul: RealConsul, id: string, port: number): Promise<void> =>
	consul.put('/v1/agent/service/register', {
		ID: id,
		Name: 'barista',
		Address: '1.2.3.4',
		Port: port,
		Check: { CheckID: `check-${id}`, TTL: '10m', Status: 'passing' },
	});

describe('Diplomat, a real sidecar and a real Consul', () => {
	it('the app gets what is registered, is pushed each change, and goes on while Consul and then the sidecar are dead', async () => {
		await using consul = await startConsul({ binary, mode: 'server' });
		await register(consul, 'b1', 8765);
		await using place = await tempSocket();
		const args = ['--consul', consul.url];
		await using sidecar = await startSidecar(place.path, args);
		await using diplomat = await connect({ path: place.path });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4', port: 8765 });

		const seen: ServiceSnapshot[] = [];
		const stop = new AbortController();
		const watching = (async () => {
			for await (const snapshot of diplomat.watchService('barista', { signal: stop.signal })) seen.push(snapshot);
		})();
		await register(consul, 'b2', 8766);
		await waitFor('the second instance', () => seen.at(-1)?.instances.length === 2);
		await consul.put('/v1/agent/check/fail/check-b1');
		await waitFor('the failed check', () => seen.at(-1)?.instances.some(({ status }) => status === 'critical'));
		for (let turn = 0; turn < 4; turn++) expect(await diplomat.getService('barista')).toMatchObject({ port: 8766 });
		await consul.put('/v1/agent/service/deregister/b1');
		await waitFor('the deregistration', () => seen.at(-1)?.instances.length === 1);

		// An agent that restarts remembers a TTL check only from what was reported to it.
		await consul.put('/v1/agent/check/pass/check-b2');
		await consul.kill();
		await waitFor('the age', () => seen.at(-1)?.source === 'last-known-good');
		expect(await diplomat.getService('barista')).toMatchObject({ port: 8766, stale: true });
		expect(await diplomat.getService('barista', { fresh: true })).toMatchObject({ port: 8766, stale: true });
		await consul.restart();
		await waitFor('Consul to be back', () => seen.at(-1)?.source === 'live');
		expect(await diplomat.getService('barista')).not.toHaveProperty('stale');

		await sidecar.stop('SIGKILL');
		await waitFor('the loss', () => seen.at(-1)?.source === 'last-known-good');
		expect(await diplomat.getService('barista')).toMatchObject({ port: 8766, stale: true });
		await using _next = await startSidecar(place.path, args);
		await waitFor('the next sidecar', () => seen.at(-1)?.source === 'live');
		stop.abort();
		await watching;
	});

	it('a query by metadata is a subscription of its own, and is pushed what changes', async () => {
		await using consul = await startConsul({ binary });
		const put = (id: string, port: number, rack: string): Promise<void> =>
			consul.put('/v1/agent/service/register', {
				ID: id,
				Name: 'barista',
				Address: '1.2.3.4',
				Port: port,
				Meta: { rack },
			});
		await put('b1', 8765, 'a');
		await put('b2', 8766, 'b');
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--consul', consul.url]);
		await using diplomat = await connect({ path: place.path });
		const query = { service: 'barista', meta: { rack: 'b' } };
		expect(await diplomat.getService(query)).toMatchObject({ port: 8766 });
		expect((await diplomat.getInstances('barista')).instances).toHaveLength(2);
		expect(await diplomat.getInstances(query)).toMatchObject({ meta: { rack: 'b' }, instances: [{ port: 8766 }] });
		await put('b1', 8767, 'b');
		await waitFor('the push', async () => (await diplomat.getInstances(query)).instances.length === 2);
		await expect(diplomat.getService({ ...query, meta: { rack: 'c' } })).rejects.toMatchObject({
			code: 'NO_SUCH_SERVICE',
			details: { meta: { rack: 'c' } },
		});
	});

	it('an unknown service is NO_SUCH_SERVICE, and there as soon as it is registered', async () => {
		await using consul = await startConsul({ binary });
		await using place = await tempSocket();
		await using _sidecar = await startSidecar(place.path, ['--backend', 'consul', '--consul', consul.url]);
		await using diplomat = await connect({ path: place.path });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
		await register(consul, 'b1', 8765);
		await waitFor('the registration', () => diplomat.pick('barista'));
		expect(await diplomat.getService('barista')).toMatchObject({ port: 8765 });
	});

	it('CONSUL_HTTP_ADDR alone chooses Consul; a sidecar without its Consul is not ready, says why, and hides the token', async () => {
		await using place = await tempSocket();
		const env = { CONSUL_HTTP_ADDR: 'http://127.0.0.1:1', CONSUL_HTTP_TOKEN: 's3cret' };
		await using sidecar = await startSidecar(place.path, ['--log-level', 'trace'], { env });
		const health = await waitFor('the reason', async () => {
			await using asked = runSidecar(['health', '--socket', place.path]);
			const result = await asked.finished;
			return result.stderr.includes('127.0.0.1:1') ? result : undefined;
		});
		expect(health).toMatchObject({
			exitCode: 1,
			stderr: expect.stringContaining('the backend consul has not answered yet: Consul at'),
		});
		await using get = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await get.finished).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('UNAVAILABLE') });
		const { stdout, stderr } = await sidecar.stop();
		expect(stdout + stderr + health.stderr).not.toContain('s3cret');
	});
});
