import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { spawnProcess, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';

const here = import.meta.dirname;
const HOST = '127.0.0.1';

async function get(url: string): Promise<[status: number, body: unknown]> {
	const response = await fetch(url);
	return [response.status, await response.json()];
}

it('built, and as a process of its own, it takes orders, is registered while it serves, and is out of the registry at its end', async () => {
	const { scripts } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as { scripts: { build: string } };
	const PATH = `${join(here, 'node_modules/.bin')}:${process.env['PATH']}`;
	execFileSync('sh', ['-c', scripts.build], { cwd: here, env: { PATH }, stdio: 'inherit' });

	const barista = createServer(({ url = '' }, response) => {
		response.writeHead(url === '/make/tea' ? 418 : 200).end(`${url.slice('/make/'.length)} is ready`);
	});
	barista.listen(0, HOST);
	await once(barista, 'listening');
	await using place = await tempSocket();
	const file = join(place.directory, 'services.json');
	const services = { barista: [{ host: HOST, port: (barista.address() as AddressInfo).port }] };
	writeFileSync(file, JSON.stringify({ services }));
	await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file]);
	await using others = await connect({ path: place.path });
	const env = { SPOCK_SOCKET: place.path, PORT: '0' };
	await using app = spawnProcess(process.execPath, [join(here, 'dist/main.js')], { env });
	const url = await waitFor('the address', () => /waiter listens at (\S+)/.exec(app.stdout())?.[1]);

	expect(await get(`${url}/order/cortado`)).toEqual([200, { drink: 'cortado', made: 'cortado is ready' }]);
	expect(await get(`${url}/order/tea`)).toMatchObject([502, { message: 'the barista answers 418' }]);
	await waitFor('readiness', async () => (await get(`${url}/readyz`))[0] === 200);
	const { host, port } = await others.getService('waiter');
	expect(`http://${host}:${port}`).toBe(url);
	barista.closeAllConnections();
	barista.close();
	const gone = expect.stringMatching(/the instance ".*" \(127\.0\.0\.1:\d+\) of "barista"/);
	expect(await get(`${url}/order/cortado`)).toMatchObject([503, { message: gone }]);

	expect(await app.stop('SIGTERM')).toMatchObject({ signal: 'SIGTERM' });
	expect((await others.getInstances('waiter', { fresh: true })).instances).toEqual([]);
});
