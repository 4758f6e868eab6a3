import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { runSidecar, spawnProcess, tempSocket } from '@spock/testkit';
import { expect, it } from 'vitest';

const packages = join(import.meta.dirname, '../packages');
/** What each README prints. Those of pg, ioredis and grpc need a server: the tests of their examples have one. */
const PRINTED: Readonly<Record<string, RegExp>> = {
	protocol: /"func":"getService"[\s\S]*kind: 'reply'/,
	balancer: /^(web-1 web-2|web-2 web-1)\nweb-[12]\n$/,
	discovery: /^1 \d+ live\n/,
	client: /^127\.0\.0\.1 \d+ /,
	sidecar: /127\.0\.0\.1:\d+[\s\S]*\n0\n$/,
	undici: /^200 menu\n$/,
	http: /^200\n$/,
};

function snippetOf(name: string): string {
	const [, code = ''] = /^```js\n(.*?)^```/ms.exec(readFileSync(join(packages, name, 'README.md'), 'utf8')) ?? [];
	return code;
}

it('every README of a package that needs no other server runs as it stands', async () => {
	const barista = createServer((_request, response) => response.end('menu')).listen(0, '127.0.0.1');
	await once(barista, 'listening');
	await using place = await tempSocket();
	const services = join(place.directory, 'services.json');
	const { port } = barista.address() as AddressInfo;
	await writeFile(services, JSON.stringify({ services: { barista: [{ host: '127.0.0.1', port }] } }));
	await using _sidecar = runSidecar(['start', '--backend', 'local', '--services', services, '--socket', place.path]);

	for (const [name, printed] of Object.entries(PRINTED)) {
		// The bench has all of them among its dependencies; a client waits for the sidecar.
		await using running = spawnProcess(process.execPath, ['--input-type=module', '-'], {
			cwd: join(packages, 'bench'),
			input: snippetOf(name),
			env: { SPOCK_SOCKET: place.path },
		});
		const { exitCode, stdout, stderr } = await running.finished;
		expect([name, exitCode, stderr]).toEqual([name, 0, '']);
		expect(stdout, name).toMatch(printed);
	}
	barista.close();
	barista.closeAllConnections();
});
