import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

import { atTerminal } from './at-terminal.ts';

it.each(['SIGHUP', 'SIGUSR2'] as const)(
	'%s is logged, and ends nothing; changed files are read anyway',
	async (signal) => {
		await using place = await tempSocket();
		const services = join(place.directory, 'services.json');
		writeFileSync(services, '{"services":{"barista":[{"host":"10.0.0.1","port":80}]}}');
		const flags = ['--backend', 'local', '--services', services, '--log-format', 'json', '--grace-ms', '0'];
		await using sidecar = await startSidecar(place.path, flags);
		writeFileSync(services, '{"services":{"barista":[{"host":"10.0.0.2","port":80}]}}');
		process.kill(sidecar.pid, signal);
		await waitFor('its line', () => sidecar.stdout().includes('signal ignored; changed files are read anyway'));
		await using diplomat = await connect({ path: place.path });
		for await (const { instances } of diplomat.watchService('barista')) if (instances[0]?.host === '10.0.0.2') break;
		await diplomat.close();
		process.kill(sidecar.pid, 'SIGTERM');
		expect(await sidecar.finished).toMatchObject({ exitCode: 0 });
		expect(existsSync(place.path)).toBe(false);
	},
);

it('a terminal that goes away ends its sidecar, which removes its socket', async () => {
	await using place = await tempSocket();
	await using terminal = atTerminal(['start', '--socket', place.path, '--backend', 'local']);
	await waitFor('the socket', () => existsSync(place.path));
	process.kill(terminal.pid, 'SIGKILL');
	await waitFor('its end', () => !existsSync(place.path));
});
