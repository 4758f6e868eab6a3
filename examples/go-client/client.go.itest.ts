import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket } from '@spock/testkit';
import { beforeAll, expect, it } from 'vitest';

const directory = fileURLToPath(new URL('.', import.meta.url));
const binary = fileURLToPath(new URL('../../node_modules/.cache/spock-go/go-client', import.meta.url));
const services = fileURLToPath(new URL('../services.json', import.meta.url));

// `npm test -- --servers` has done it before, for all to see: the first time its modules are downloaded and compiled.
beforeAll(() => void execFileSync('go', ['build', '-o', binary, '.'], { cwd: directory }), 600_000);

it('the client in Go asks on one connection and matches the replies by id', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	await using run = spawnProcess(binary, [place.path, 'barista', 'nobody']);
	const { exitCode, stdout } = await run.finished;
	expect(stdout.split('\n').sort()).toEqual([
		'',
		'barista: 127.0.0.1:8765',
		expect.stringContaining('nobody: NO_SUCH_SERVICE'),
	]);
	expect(exitCode).toBe(0);
});
