import { fileURLToPath } from 'node:url';
import { spawnProcess, startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
import { findRedis, type RealRedis, startRedis } from '@spock/testkit/real-databases';
import { expect, it } from 'vitest';

const app = fileURLToPath(new URL('./counter.js', import.meta.url));
const binary = findRedis(process.env);

it('the example app counts at the primary, and at the new one after a fail-over', { timeout: 120_000 }, async () => {
	await using services = await TempServices.make();
	const say = ({ host, port }: RealRedis): Promise<void> =>
		services.set('cache', [{ id: `redis-${port}`, host, port, tags: ['primary'] }]);
	await using primary = await startRedis({ binary });
	await using replica = await startRedis({ binary, replicaOf: primary });
	await say(primary);
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services.file]);
	await using run = spawnProcess(process.execPath, [app], { env: { SPOCK_SOCKET: place.path } });
	await waitFor('visits', () => run.stdout().includes(`counted at port ${primary.port}`));
	await primary.kill();
	await waitFor('a lost connection', () => run.stdout().includes('not connected'));
	await replica.promote();
	await say(replica);
	await waitFor('visits at the new primary', () => run.stdout().includes(`counted at port ${replica.port}`));
	const { exitCode, stderr } = await run.stop('SIGINT');
	expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});
