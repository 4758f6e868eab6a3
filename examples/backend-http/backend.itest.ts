import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

import { runSidecar, spawnProcess, startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const backend = fileURLToPath(new URL('./backend.js', import.meta.url));
const acceptance = fileURLToPath(new URL('./contract.test.js', import.meta.url));

it('the example backend keeps the contract, as its own acceptance test says', async () => {
	await using run = spawnProcess(process.execPath, ['--test', '--test-reporter=tap', acceptance]);
	const { exitCode, stdout, stderr } = await run.finished;
	expect(stdout + stderr).toMatch(/^# fail 0$/m);
	expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(15);
	expect(exitCode).toBe(0);
});

it('the sidecar serves from the example backend', async () => {
	const server = createServer((_request, response) => response.end('{"barista":[{"host":"10.0.0.1","port":80}]}'));
	await once(server.listen(0, '127.0.0.1'), 'listening');
	const { port } = server.address() as { readonly port: number };
	await using place = await tempSocket();
	const env = { SERVICES_URL: `http://127.0.0.1:${port}/` };
	await using _sidecar = await startSidecar(place.path, ['--backend', backend], { env });
	await using get = runSidecar(['get', 'barista', '--socket', place.path]);
	expect(await get.finished).toMatchObject({ stdout: '10.0.0.1:80\n' });
	server.closeAllConnections();
	server.close();
});
