import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { connect } from '@spock/client';
import { type RunningProcess, spawnProcess, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

const main = join(import.meta.dirname, 'main.js');
const HOST = '127.0.0.1';
const MADE = { drink: 'cortado', made: 'cortado is ready' };

let barista: Server;
/** A cup of `slow` is `asked` for, and made when it is told `done`. */
const steps = new EventEmitter();

beforeAll(async () => {
	barista = createServer(async ({ url = '' }, response) => {
		if (url === '/make/slow') {
			steps.emit('asked');
			await once(steps, 'done');
		}
		response.end(`${url.slice('/make/'.length)} is ready`);
	});
	barista.listen(0, HOST);
	await once(barista, 'listening');
});
afterAll(() => barista.close());

function startApp(place: TempSocket, env: Record<string, string> = {}): RunningProcess {
	return spawnProcess(process.execPath, [main], { env: { SPOCK_SOCKET: place.path, ...env } });
}

function urlOf(app: RunningProcess): Promise<string> {
	return waitFor('the address', () => /waiter listens at (\S+)/.exec(app.stdout())?.[1]);
}

async function get(url: string): Promise<[status: number, body: unknown]> {
	const response = await fetch(url);
	return [response.status, await response.json()];
}

/** A registry, and a client that is beside the app: it registers the barista, and sees who else is there. */
async function startRegistry(place: TempSocket) {
	const sidecar = await startSidecar(place.path, ['--backend', 'local']);
	const diplomat = await connect({ path: place.path });
	await diplomat.register({ service: 'barista', host: HOST, port: (barista.address() as AddressInfo).port });
	return {
		sidecar,
		diplomat,
		[Symbol.asyncDispose]: async () => {
			await diplomat.drain();
			await sidecar[Symbol.asyncDispose]();
		},
	};
}

it('starts with its sidecar, is found, is ready, and asks another service', async () => {
	await using place = await tempSocket();
	await using registry = await startRegistry(place);
	await using app = startApp(place);
	const url = await urlOf(app);
	const { host, port } = await registry.diplomat.getService('waiter');
	expect(`http://${host}:${port}`).toBe(url);
	expect(await get(`${url}/readyz`)).toEqual([200, { ready: true, sidecar: 'ready' }]);
	expect(await get(`${url}/order/cortado`)).toEqual([200, MADE]);
});

it('at SIGTERM it is not ready, then not in the registry, takes nobody new, finishes who is there, and ends with 0', async () => {
	await using place = await tempSocket();
	await using registry = await startRegistry(place);
	await using app = startApp(place, { CALL_TIMEOUT_MS: '60000' });
	const url = await urlOf(app);
	const asked = once(steps, 'asked');
	const asking = get(`${url}/order/slow`);
	await asked;
	// A registry that takes its time.
	registry.sidecar.child.kill('SIGSTOP');
	app.child.kill('SIGTERM');
	await waitFor('not to be ready', async () => (await get(`${url}/readyz`))[0] === 503);
	registry.sidecar.child.kill('SIGCONT');
	await waitFor('the end of its registration', () => app.stdout().includes('waiter is deregistered'));
	await expect(registry.diplomat.getService('waiter', { fresh: true })).rejects.toMatchObject({
		code: 'NO_SUCH_SERVICE',
	});
	await waitFor('the end of the listener', () =>
		fetch(`${url}/readyz`).then(
			() => false,
			({ cause }) => cause.code === 'ECONNREFUSED',
		),
	);
	expect(app.stdout()).not.toContain('every request');
	steps.emit('done');
	expect(await asking).toEqual([200, { drink: 'slow', made: 'slow is ready' }]);
	const { exitCode, stdout, stderr } = await app.finished;
	expect([exitCode, stderr]).toEqual([0, '']);
	expect(stdout.split('\n').slice(1)).toEqual([
		'waiter is deregistered',
		'every request has ended',
		'the diplomat has ended',
		'',
	]);
});

it('a request that never ends does not hold it up for ever', async () => {
	await using place = await tempSocket();
	await using _registry = await startRegistry(place);
	await using app = startApp(place, { STOP_TIMEOUT_MS: '50' });
	const url = await urlOf(app);
	const asked = once(steps, 'asked');
	const asking = get(`${url}/order/slow`).catch((error: Error) => error.message);
	await asked;
	expect(await app.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
	expect(await asking).toBe('fetch failed');
	steps.emit('done');
});

it('without a sidecar it ends with 1, and says what is missing', async () => {
	await using place = await tempSocket();
	await using app = startApp(place, { READY_TIMEOUT_MS: '50' });
	const { exitCode, stderr } = await app.finished;
	expect(exitCode).toBe(1);
	expect(stderr).toContain(`waiter cannot start: no sidecar answered at ${place.path} within 50 ms: `);
});

it('a port that is taken ends it with 1, and nothing is left open', async () => {
	await using place = await tempSocket();
	await using _registry = await startRegistry(place);
	await using app = startApp(place, { PORT: String((barista.address() as AddressInfo).port) });
	expect(await app.finished).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('EADDRINUSE') });
});

it('tells whoever orders which service is to blame', async () => {
	await using place = await tempSocket();
	await using registry = await startRegistry(place);
	await using app = startApp(place, { CALL_TIMEOUT_MS: '50' });
	const url = await urlOf(app);
	const [status, body] = await get(`${url}/order/slow`);
	const message = expect.stringMatching(/^the instance ".*" \(127\.0\.0\.1:\d+\) of "barista": .*timeout/);
	expect([status, body]).toEqual([503, { error: 'UNAVAILABLE', message }]);
	steps.emit('done');
	await registry.diplomat.drain();
	const gone = { error: 'NO_SUCH_SERVICE', message: 'no instance of "barista" is registered' };
	const answer = await waitFor('the end of the barista', async () => {
		const [, told] = await get(`${url}/order/tea`);
		return (told as { error?: string }).error === gone.error && told;
	});
	expect(answer).toEqual(gone);
});
