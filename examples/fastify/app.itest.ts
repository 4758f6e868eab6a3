import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { connect, type ServiceName } from '@spock/client';
import { localSource } from '@spock/discovery';
import { runSidecar, spawnProcess, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { waiter } from './app.ts';

const here = import.meta.dirname;
const HOST = '127.0.0.1';

let barista: Server;
let baristaPort: number;
/** Services of a source or, as JSON, of a services file. */
let services: { barista: { host: string; port: number }[] };

beforeAll(async () => {
	barista = createServer(({ url = '' }, response) => {
		response.writeHead(url === '/make/tea' ? 418 : 200).end(`${url.slice('/make/'.length)} is ready`);
	});
	barista.listen(0, HOST);
	await once(barista, 'listening');
	baristaPort = (barista.address() as AddressInfo).port;
	services = { barista: [{ host: HOST, port: baristaPort }] };
});
afterAll(() => barista.close());

/** Where the sidecar listens, and the file that it serves. */
async function startedSidecar(place: TempSocket) {
	const file = join(place.directory, 'services.json');
	writeFileSync(file, JSON.stringify({ services }));
	return startSidecar(place.path, ['--backend', 'local', '--services', file]);
}

async function get(url: string): Promise<[status: number, body: unknown]> {
	const response = await fetch(url);
	return [response.status, await response.json()];
}

it('takes an order, with and without its sidecar, and its diplomat ends with it', async () => {
	await using place = await tempSocket();
	await using sidecar = await startedSidecar(place);
	await using app = waiter({ path: place.path });
	const url = await app.listen({ host: HOST, port: 0 });
	expect(await get(`${url}/readyz`)).toEqual([200, { ready: true, sidecar: 'ready' }]);
	expect(await get(`${url}/order/cortado`)).toEqual([200, { drink: 'cortado', made: 'cortado is ready' }]);
	await sidecar.stop('SIGKILL');
	await waitFor('the loss of the sidecar', () => app.diplomat.status().state !== 'ready');
	expect(await get(`${url}/order/cortado`)).toEqual([200, { drink: 'cortado', made: 'cortado is ready' }]);
	await app.close();
	expect(await app.diplomat.closed).toEqual({ reason: 'drain' });
});

it('answers an order that cannot be made with the service that is to blame, and why', async () => {
	const cases = [
		[{}, 'NO_SUCH_SERVICE', 'no instance of "barista" is registered'],
		[{ barista: [{ host: HOST, port: baristaPort, status: 'critical' as const }] }, 'NO_HEALTHY_INSTANCE', 'barista'],
		[{ barista: [{ host: '::1', port: 1 }] }, 'UNAVAILABLE', 'the instance "::1:1" ([::1]:1) of "barista": '],
	] as const;
	for (const [known, code, said] of cases) {
		await using app = waiter({ source: await localSource({ services: known }) });
		const { statusCode, body } = await app.inject('/order/tea');
		expect([statusCode, JSON.parse(body)]).toEqual([503, { error: code, message: expect.stringContaining(said) }]);
	}
	await using app = waiter({ source: await localSource({ services }) });
	const { statusCode, body } = await app.inject('/order/tea');
	expect([statusCode, JSON.parse(body)]).toEqual([502, { error: 'the barista answers 418' }]);
});

it('services.ts is what typegen makes of the services file', async () => {
	const args = ['typegen', '--services', '../services.json', '--out', 'services.ts', '--check'];
	await using check = runSidecar(args, { cwd: here });
	expect(await check.finished).toMatchObject({ exitCode: 0, stderr: '' });
});

it('built, and as a process of its own, it is registered while it serves, and ends at SIGTERM with 0', async () => {
	const { scripts } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as { scripts: { build: string } };
	const PATH = `${join(here, 'node_modules/.bin')}:${process.env['PATH']}`;
	execFileSync('sh', ['-c', scripts.build], { cwd: here, env: { PATH }, stdio: 'pipe' });
	await using place = await tempSocket();
	await using _sidecar = await startedSidecar(place);
	await using others = await connect({ path: place.path });
	const env = { SPOCK_SOCKET: place.path, PORT: '0' };
	await using run = spawnProcess(process.execPath, [join(here, 'dist/main.js')], { env });
	const url = await waitFor('its address', () => /listening at (http:\S+)"/.exec(run.stdout())?.[1]);
	expect(await get(`${url}/order/cortado`)).toEqual([200, { drink: 'cortado', made: 'cortado is ready' }]);
	await waitFor('readiness', async () => (await get(`${url}/readyz`))[0] === 200);
	const { port } = await others.getService('waiter' as ServiceName);
	expect(url).toBe(`http://${HOST}:${port}`);
	expect(await run.stop('SIGTERM')).toMatchObject({ exitCode: 0, stderr: '' });
	expect((await others.getInstances('waiter' as ServiceName, { fresh: true })).instances).toEqual([]);
});
