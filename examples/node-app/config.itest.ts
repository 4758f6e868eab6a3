import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const services = fileURLToPath(new URL('../services.json', import.meta.url));
const app = fileURLToPath(new URL('./config.js', import.meta.url));

it('the configuration of the example is read, or its default', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
	const env = { SPOCK_SOCKET: place.path };
	await using known = spawnProcess(process.execPath, [app, '--once'], { env });
	expect(await known.finished).toMatchObject({ exitCode: 0, stdout: '3 at once (live)\n' });
	await using unknown = spawnProcess(process.execPath, [app, 'no/such/key', '--once'], { env });
	expect(await unknown.finished).toMatchObject({ exitCode: 0, stdout: '1 at once (default)\n' });
});

it('an edit is followed, a bad one reported while the last good one stays, and Ctrl-C ends it', async () => {
	await using place = await tempSocket();
	const file = join(place.directory, 'services.json');
	const write = (limits: unknown): string => {
		const content = JSON.parse(readFileSync(services, 'utf8')) as { keys: Record<string, unknown> };
		content.keys['barista/limits'] = limits;
		writeFileSync(`${file}.new`, JSON.stringify(content));
		renameSync(`${file}.new`, file);
		return file;
	};
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', write({ cupsAtOnce: 3 })]);
	await using run = spawnProcess(process.execPath, [app], { env: { SPOCK_SOCKET: place.path } });
	await waitFor('the value', () => run.stdout().includes('3 at once'));
	write({ cupsAtOnce: 'many' });
	await waitFor('the report', () => run.stdout().includes('still 3 at once: the value of "barista/limits" is invalid'));
	write({ cupsAtOnce: 4 });
	await waitFor('the next value', () => run.stdout().includes('4 at once'));
	expect((await run.stop('SIGINT')).exitCode).toBe(0);
});
