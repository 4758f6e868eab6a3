import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const services = fileURLToPath(new URL('../services.json', import.meta.url));
const app = fileURLToPath(new URL('./lookup.js', import.meta.url));

it('the example app looks a service up and ends by itself', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	await using run = spawnProcess(process.execPath, [app, 'barista', '--once'], { env: { SPOCK_SOCKET: place.path } });
	const { exitCode, stdout } = await run.finished;
	expect(stdout).toBe('barista is at 127.0.0.1:8765\n'.repeat(10));
	expect(exitCode).toBe(0);
});

it('the example app started before its sidecar waits for it, watches, and stops at Ctrl-C', async () => {
	await using place = await tempSocket();
	await using run = spawnProcess(process.execPath, [app, 'barista'], { env: { SPOCK_SOCKET: place.path } });
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	await waitFor('the first snapshot', () => run.stdout().includes('revision'));
	const { exitCode, stdout } = await run.stop('SIGINT');
	expect(stdout).toContain('127.0.0.1:8765 passing');
	expect(exitCode).toBe(0);
});
