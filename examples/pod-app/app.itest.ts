import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const services = fileURLToPath(new URL('../services.json', import.meta.url));
const app = fileURLToPath(new URL('./app.js', import.meta.url));

const last = (output: string): Record<string, unknown> => JSON.parse(output.trimEnd().split('\n').at(-1) ?? '');

it('the pod app looks up until its SIGTERM and on while it drains, and says how that went', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	await using run = spawnProcess(process.execPath, [app], { env: { SPOCK_SOCKET: place.path, APP_DRAIN_MS: '50' } });
	await waitFor('the first line', () => run.stdout().includes('"phase":"running"'));
	const { exitCode, stdout } = await run.stop('SIGTERM');
	expect(exitCode).toBe(0);
	const end = last(stdout);
	expect(end).toMatchObject({ phase: 'ended', failed: 0, stale: 0, questionsFailed: 0, errors: {} });
	expect(end['questions']).toBeGreaterThan(0);
	expect(end['lookups']).toBeGreaterThan(end['questions'] as number);
});

it('the pod app ends by itself when it is a job, and counts what fails', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	const env = { SPOCK_SOCKET: place.path, APP_SERVICE: 'nobody', APP_RUN_MS: '50', APP_DRAIN_MS: '0' };
	await using run = spawnProcess(process.execPath, [app], { env });
	const { exitCode, stdout } = await run.finished;
	expect(exitCode).toBe(0);
	const end = last(stdout);
	expect(end['failed']).toBe(end['lookups']);
	expect(end['errors']).toHaveProperty('NO_SUCH_SERVICE');
});

it('the pod app shows the token of its file to a Spock that asks for one', async () => {
	await using place = await tempSocket();
	const token = join(place.directory, 'token');
	await writeFile(token, 'the-token-of-the-app\n');
	const guarded = ['--backend', 'local', '--services', services, '--token-on-socket'];
	await using _sidecar = await startSidecar(place.path, guarded, { env: { SPOCK_TOKEN: 'the-token-of-the-app' } });
	const env = { SPOCK_SOCKET: place.path, APP_TOKEN_FILE: token, APP_RUN_MS: '50', APP_DRAIN_MS: '0' };
	await using run = spawnProcess(process.execPath, [app], { env });
	const { exitCode, stdout } = await run.finished;
	expect(exitCode).toBe(0);
	expect(last(stdout)).toMatchObject({ failed: 0, questionsFailed: 0, errors: {} });
});
