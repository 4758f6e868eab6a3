import { fileURLToPath } from 'node:url';

import { runSidecar, spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const app = fileURLToPath(new URL('./serve.js', import.meta.url));

it('the example service registers itself, is found and served, and deregisters before it ends', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local']);
	await using run = spawnProcess(process.execPath, [app, 'barista'], { env: { SPOCK_SOCKET: place.path } });
	await waitFor('the registration', () => run.stdout().includes('barista is registered as barista-'));
	const get = async () => {
		await using command = runSidecar(['get', 'barista', '--socket', place.path]);
		return await command.finished;
	};
	const { stdout: address } = await get();
	expect(await (await fetch(`http://${address.trim()}/`)).text()).toBe('a cup of coffee\n');
	const { exitCode, stdout } = await run.stop('SIGTERM');
	expect(stdout).toContain('barista is deregistered');
	expect(exitCode).toBe(0);
	expect((await get()).stderr).toContain('NO_SUCH_SERVICE');
});
