import { execFileSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { reasonIn, runSidecar, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

it('a services file that is a FIFO ends the start with a word, and holds up no end', async () => {
	await using place = await tempSocket();
	const fifo = join(place.directory, 'fifo');
	execFileSync('mkfifo', [fifo]);
	await using refused = runSidecar(['start', '--socket', place.path, '--services', fifo]);
	const { exitCode, stdout } = await refused.finished;
	expect(exitCode).toBeGreaterThan(0);
	expect(reasonIn(stdout)).toContain(`cannot read ${fifo}: it is not a regular file`);
	const services = join(place.directory, 'services.json');
	writeFileSync(services, '{"services":{}}');
	await using sidecar = await startSidecar(place.path, ['--services', services]);
	renameSync(fifo, services);
	await waitFor('the refusal', () => sidecar.stdout().includes('services file is invalid'));
	expect(await sidecar.stop()).toMatchObject({ exitCode: 0 });
});

it.each([
	['a config file', (fifo: string) => ['--config', fifo]],
	['a record to play', (fifo: string) => ['--backend', 'replay', '--record', fifo]],
])('%s that is a FIFO nobody writes ends the start with a word', async (_, flags) => {
	await using place = await tempSocket();
	const fifo = join(place.directory, 'fifo');
	execFileSync('mkfifo', [fifo]);
	await using refused = runSidecar(['start', '--socket', place.path, ...flags(fifo)]);
	const { exitCode, stdout, stderr } = await refused.finished;
	expect(exitCode).toBeGreaterThan(0);
	expect(`${stdout}${stderr}`).toMatch(new RegExp(`${fifo} .*is not a regular file`));
});
