import { fileURLToPath } from 'node:url';
import { spawnProcess, startSidecar, TempServices, tempSocket, waitFor } from '@spock/testkit';
import { findPostgres, type RealPostgres, startPostgres } from '@spock/testkit/real-databases';
import { expect, it } from 'vitest';

const app = fileURLToPath(new URL('./orders.js', import.meta.url));
const binaries = findPostgres(process.env);

it('the example app takes orders at the primary, and at the new one after a fail-over', {
	timeout: 120_000,
}, async () => {
	await using services = await TempServices.make();
	const say = ({ host, port }: RealPostgres): Promise<void> =>
		services.set('orders-db', [{ id: `pg-${port}`, host, port, tags: ['primary'] }]);
	await using primary = await startPostgres({ binaries });
	await using standby = await startPostgres({ binaries, standbyOf: primary });
	await say(primary);
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services.file]);
	const env = { SPOCK_SOCKET: place.path, PGUSER: 'postgres', PGDATABASE: 'postgres' };
	await using run = spawnProcess(process.execPath, [app], { env });
	await waitFor('orders', () => run.stdout().includes(`taken at port ${primary.port}`));
	await primary.kill();
	await waitFor('an order that is not taken', () => run.stdout().includes('order not taken'));
	await standby.promote();
	await say(standby);
	await waitFor('orders at the new primary', () => run.stdout().includes(`taken at port ${standby.port}`));
	const { exitCode, stderr } = await run.stop('SIGINT');
	expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
});
