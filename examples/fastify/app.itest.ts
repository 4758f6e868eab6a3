import { execFileSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { createDiplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import { runSidecar, spawnProcess, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { waiter } from './app.ts';
import { spock } from './spock.ts';

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

it('is ready with its sidecar, asks another service, with and without it, and its diplomat ends with it', async () => {
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

it('finishes a request that is there when it is closed, and what that still asks for', async () => {
	await using place = await tempSocket();
	await using _sidecar = await startedSidecar(place);
	await using app = waiter({ path: place.path });
	const steps = new EventEmitter();
	// Before the handler, which has not asked for the barista yet.
	app.addHook('preHandler', async () => {
		const opened = once(steps, 'opened');
		steps.emit('entered');
		await opened;
	});
	const url = await app.listen({ host: HOST, port: 0 });
	const entered = once(steps, 'entered');
	const asking = get(`${url}/order/cortado`);
	await entered;
	const closing = app.close();
	// Nobody new gets in.
	await waitFor('the end of the listener', () => !app.server.listening);
	expect(app.diplomat.status().state).toBe('ready');
	steps.emit('opened');
	expect(await asking).toEqual([200, { drink: 'cortado', made: 'cortado is ready' }]);
	await closing;
	expect(app.diplomat.status().state).toBe('closed');
});

it.each([
	['its own time-out', { readyTimeoutMs: 50 }, {}, 'within 50 ms'],
	['before Fastify gives up on the plugin', {}, { pluginTimeout: 250 }, 'within 200 ms'],
])(
	'does not start without a sidecar, says so after %s, and leaves nothing open',
	async (_, options, server, within) => {
		await using place = await tempSocket();
		await using app = waiter({ path: place.path, ...options }, server);
		const error = await app.listen({ host: HOST, port: 0 }).catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ code: 'TIMEOUT', details: { address: place.path, found: 'nothing' } });
		expect((error as Error).message).toContain(`no sidecar answered at ${place.path} ${within}`);
		expect(await app.diplomat.closed).toEqual({ reason: 'close' });
		expect(app.server.listening).toBe(false);
	},
);

it('starts without a sidecar where there is a fallback', async () => {
	await using place = await tempSocket();
	await using app = waiter({ path: place.path, readyTimeoutMs: 50, fallback: await localSource({ services }) });
	const url = await app.listen({ host: HOST, port: 0 });
	expect(await get(`${url}/order/cortado`)).toEqual([200, { drink: 'cortado', made: 'cortado is ready' }]);
});

it('takes a diplomat that is there already, on a source of its own, and leaves it open unless told to', async () => {
	await using diplomat = createDiplomat({ source: await localSource({ services }) });
	for (const drainOnClose of [undefined, true]) {
		await using app = waiter({ diplomat, ...(drainOnClose !== undefined && { drainOnClose }) });
		const url = await app.listen({ host: HOST, port: 0 });
		expect((await get(`${url}/order/cortado`))[0]).toBe(200);
		await app.close();
		expect(diplomat.status().state).toBe(drainOnClose ? 'closed' : 'ready');
	}
});

it('tells whoever orders which service is to blame, and how', async () => {
	const cases = [
		[{}, 'NO_SUCH_SERVICE', 'no instance of "barista" is registered'],
		[{ barista: [{ host: HOST, port: baristaPort, status: 'critical' as const }] }, 'NO_HEALTHY_INSTANCE', 'barista'],
		[{ barista: [{ host: '::1', port: 1 }] }, 'UNAVAILABLE', 'the instance "::1:1" ([::1]:1) of "barista": '],
		[services, 'UNAVAILABLE', `of "barista": it answers 418`],
	] as const;
	for (const [known, code, said] of cases) {
		await using app = waiter({ source: await localSource({ services: known }) });
		const { statusCode, body } = await app.inject('/order/tea');
		expect([statusCode, JSON.parse(body)]).toEqual([503, { error: code, message: expect.stringContaining(said) }]);
	}
});

it('cannot be registered twice in one app, and leaves nothing open then', async () => {
	await using app = waiter({ source: await localSource({ services }) });
	await using second = createDiplomat({ source: await localSource({ services }) });
	app.register(spock, { diplomat: second, drainOnClose: true });
	await expect(app.ready()).rejects.toMatchObject({ code: 'FST_ERR_DEC_ALREADY_PRESENT' });
	await app.close();
	expect([app.diplomat.status().state, second.status().state]).toEqual(['closed', 'closed']);
});

it('services.ts is what typegen makes of the services file', async () => {
	const args = ['typegen', '--services', '../services.json', '--out', 'services.ts', '--check'];
	await using check = runSidecar(args, { cwd: here });
	expect(await check.finished).toMatchObject({ exitCode: 0, stderr: '' });
});

it('built, and as a process of its own, it ends at SIGTERM with 0', async () => {
	const { scripts } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as { scripts: { build: string } };
	const PATH = `${join(here, 'node_modules/.bin')}:${process.env['PATH']}`;
	execFileSync('sh', ['-c', scripts.build], { cwd: here, env: { PATH }, stdio: 'pipe' });
	await using place = await tempSocket();
	await using _sidecar = await startedSidecar(place);
	const env = { SPOCK_SOCKET: place.path, PORT: '0' };
	await using run = spawnProcess(process.execPath, [join(here, 'dist/main.js')], { env });
	const url = await waitFor('its address', () => /listening at (http:\S+)"/.exec(run.stdout())?.[1]);
	expect(await get(`${url}/order/cortado`)).toEqual([200, { drink: 'cortado', made: 'cortado is ready' }]);
	expect(await run.stop('SIGTERM')).toMatchObject({ exitCode: 0, stderr: '' });
});
