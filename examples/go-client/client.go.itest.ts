import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const directory = fileURLToPath(new URL('.', import.meta.url));
const services = fileURLToPath(new URL('../services.json', import.meta.url));

it('the client in Go asks on one connection and matches the replies by id', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	const binary = join(place.directory, 'go-client');
	await using build = spawnProcess('go', ['build', '-o', binary, '.'], { cwd: directory });
	expect(await build.finished).toMatchObject({ exitCode: 0 });
	await using run = spawnProcess(binary, [place.path, 'barista', 'nobody']);
	const { exitCode, stdout } = await run.finished;
	expect(stdout.split('\n').sort()).toEqual([
		'',
		'barista: 1.2.3.4:8765',
		expect.stringContaining('nobody: NO_SUCH_SERVICE'),
	]);
	expect(exitCode).toBe(0);
});
