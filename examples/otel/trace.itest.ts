import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { spawnProcess, startSidecar, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const services = fileURLToPath(new URL('../services.json', import.meta.url));
const app = fileURLToPath(new URL('./trace.js', import.meta.url));

it('the example app prints a span for each call, within its own, and how long they took', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startSidecar(place.path, [
		...['--backend', 'local', '--services', services, '--events', join(dirname(place.path), 'events')],
	]);
	await using run = spawnProcess(process.execPath, [app, 'barista', 'nobody'], { env: { SPOCK_SOCKET: place.path } });
	const { exitCode, stdout } = await run.finished;
	expect(stdout.split('\n')).toEqual([
		...Array<string>(2).fill('barista is at 127.0.0.1:8765'),
		...Array<string>(2).fill('nobody: NO_SUCH_SERVICE'),
		'an order of 5',
		...Array<string>(2).fill('span   spock/getService OK'),
		...Array<string>(2).fill('span   spock/getService NO_SUCH_SERVICE'),
		'span   send orders',
		'span breakfast',
		'span process orders linked to send orders',
		'metric rpc.client.call.duration OK: 2 calls',
		'metric rpc.client.call.duration NO_SUCH_SERVICE: 2 calls',
		'',
	]);
	expect(exitCode).toBe(0);
});
