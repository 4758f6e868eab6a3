import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { FakeClock, FakeSidecar, fakeSnapshot, spawnProcess, tempSocket, waitFor, wireError } from '@spock/testkit';
import { describe, expect, it, vi } from 'vitest';

import { type ConnectOptions, connect, createDiplomat } from './connect.ts';
import type { DisconnectMessage } from './foundation/diagnostics.ts';
import { DEFAULT_READY_TIMEOUT_MS } from './foundation/options.ts';

/** Of what is built of the package. */
const waitingApp = fileURLToPath(new URL('../test/waiting-app.mjs', import.meta.url));
const QUICK = { readyTimeoutMs: 60, retryDelayMsMax: 5 };

/** What `connect` rejects with at its deadline, which comes when an attempt has failed, however long that takes. */
async function rejectionOf(options: ConnectOptions): Promise<unknown> {
	const clock = new FakeClock();
	const address = options.path ?? `127.0.0.1:${options.port}`;
	let hear: (message: unknown) => void = () => undefined;
	const failed = new Promise<void>((resolve) => {
		hear = (message) => (message as DisconnectMessage).address === address && resolve();
	});
	subscribe('spock:client:disconnect', hear);
	const rejection = connect({ ...options, clock }).catch((error: unknown) => error);
	await failed;
	unsubscribe('spock:client:disconnect', hear);
	await clock.advance(DEFAULT_READY_TIMEOUT_MS);
	return rejection;
}

describe('connect', () => {
	it('waits for a sidecar that is not there yet', async () => {
		await using place = await tempSocket();
		const waiting = connect({ path: place.path });
		await using _sidecar = await FakeSidecar.listen(place.path);
		await using diplomat = await waiting;
		expect(diplomat.status()).toMatchObject({ state: 'ready', sidecar: '@spock/fake/1.0.0', baseline: false });
	});

	it('keeps the process alive while it waits, also with `unref`, and no longer', async () => {
		await using place = await tempSocket();
		const broken = createServer().listen(place.path);
		await using app = spawnProcess(process.execPath, [waitingApp, place.path]);
		const [first] = await once(broken, 'connection');
		first.destroy();
		broken.close();
		await once(broken, 'close');
		await using _sidecar = await FakeSidecar.listen(place.path);
		expect(await app.finished).toMatchObject({ stdout: 'ready', stderr: '', exitCode: 0 });
	});

	it('works over TCP', async () => {
		await using sidecar = await FakeSidecar.listen();
		sidecar.publish(fakeSnapshot('barista', 1, ['1.2.3.4:8765']));
		await using diplomat = await connect({ port: sidecar.port });
		expect(await diplomat.getService('barista')).toEqual({
			host: '1.2.3.4',
			port: 8765,
			instance: 'node/1.2.3.4:8765',
		});
	});

	it('says that nothing is at the path, and how to start a sidecar', async () => {
		await using place = await tempSocket();
		expect(await rejectionOf({ path: place.path })).toMatchObject({
			code: 'TIMEOUT',
			message: expect.stringMatching(/nothing at that path.*`npx @spock\/sidecar start --socket \/.* in a pod /),
			details: { found: 'nothing', address: place.path },
			cause: { code: 'DISCONNECTED', cause: { code: 'ENOENT' } },
		});
	});

	it('does not talk to a sidecar in a default directory that another user made', async () => {
		// This process is another user than the one whose directory it is.
		const uid = 3_000_000 + process.pid;
		const directory = `/tmp/spock-${uid}`;
		vi.stubEnv('SPOCK_SOCKET', '');
		const getuid = vi.spyOn(process, 'getuid').mockReturnValue(uid);
		await mkdir(directory, { mode: 0o700 });
		try {
			await using squatter = await FakeSidecar.listen(join(directory, 'sidecar.sock'));
			squatter.publish(fakeSnapshot('barista', 1, ['6.6.6.6:666']));
			await expect(connect({ ...QUICK, token: 'secret' })).rejects.toMatchObject({
				code: 'TIMEOUT',
				message: expect.stringContaining(`${directory} is not a directory that only this user may change`),
				details: { found: 'untrusted directory' },
			});
			expect(squatter.connections).toHaveLength(0);
		} finally {
			getuid.mockRestore();
			vi.unstubAllEnvs();
			await rm(directory, { recursive: true });
		}
	});

	it('says that the directory is missing', async () => {
		await using place = await tempSocket('missing/sidecar.sock');
		await expect(connect({ path: place.path, ...QUICK })).rejects.toMatchObject({ details: { found: 'no directory' } });
	});

	it('says that what is there is not a socket', async () => {
		await using place = await tempSocket();
		await writeFile(place.path, '');
		await expect(connect({ path: place.path, ...QUICK })).rejects.toMatchObject({ details: { found: 'not a socket' } });
		await using other = await tempSocket();
		await mkdir(join(other.directory, 'folder'));
		await expect(connect({ path: join(other.directory, 'folder'), ...QUICK })).rejects.toMatchObject({
			details: { found: 'not a socket' },
		});
	});

	it('says that a stale socket file is left over: it never counts as ready', async () => {
		await using place = await tempSocket();
		const { spawnSync } = await import('node:child_process');
		const script = `require('net').createServer().listen(${JSON.stringify(place.path)}, () => process.kill(process.pid, 'SIGKILL'))`;
		spawnSync(process.execPath, ['-e', script]);
		expect(await rejectionOf({ path: place.path })).toMatchObject({
			code: 'TIMEOUT',
			details: { found: 'not listening' },
		});
	});

	it('says that somebody accepts and does not answer hello', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path, { hello: 'silent' });
		await expect(connect({ path: place.path, ...QUICK, dialTimeoutMs: 20 })).rejects.toMatchObject({
			code: 'TIMEOUT',
			details: { found: 'no answer' },
		});
		await waitFor('every socket to be gone', () => sidecar.liveCount === 0);
	});

	it('reports a port at which no process listens', async () => {
		const server = createServer().listen(0, '127.0.0.1');
		const port = await new Promise<number>((resolve) => {
			server.once('listening', () => resolve((server.address() as { port: number }).port));
		});
		await new Promise<void>((resolve) => server.close(() => resolve()));
		expect(await rejectionOf({ port })).toMatchObject({ details: { found: 'not listening' } });
	});

	it('rejects ABORTED with its cause when the signal aborts, before or during the wait, and leaves nothing behind', async () => {
		await using place = await tempSocket();
		const reason = new Error('shutting down');
		await expect(connect({ path: place.path, signal: AbortSignal.abort(reason) })).rejects.toMatchObject({
			code: 'ABORTED',
			cause: reason,
		});
		const stop = new AbortController();
		const waiting = connect({ path: place.path, signal: stop.signal });
		stop.abort(reason);
		await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', cause: reason });
		await using sidecar = await FakeSidecar.listen(place.path);
		await new Promise((resolve) => setImmediate(resolve));
		expect(sidecar.connections).toHaveLength(0);
	});

	it('a sidecar that shares no version is a final PROTOCOL error', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path, { hello: 'unsupported' });
		await expect(connect({ path: place.path })).rejects.toMatchObject({
			code: 'PROTOCOL',
			message: expect.stringContaining('the sidecar 2'),
			details: { sidecar: [2] },
		});
		const diplomat = createDiplomat({ path: place.path });
		expect(await diplomat.closed).toMatchObject({ reason: 'refused', error: { code: 'PROTOCOL' } });
		await expect(diplomat.getService('barista')).rejects.toMatchObject({ code: 'CLOSED' });
		expect(sidecar.connections).toHaveLength(2);
	});

	it('a failure of hello that is about load is tried again', async () => {
		await using place = await tempSocket();
		let refusals = 0;
		await using _sidecar = await FakeSidecar.listen(place.path, {
			handle: ({ func }) => (func === 'hello' && refusals++ < 3 ? { error: wireError('OVERLOADED', true) } : undefined),
		});
		await using diplomat = await connect({ path: place.path });
		expect(diplomat.status().state).toBe('ready');
		expect(refusals).toBe(4);
	});

	it('any number of callers wait for one socket', async () => {
		await using place = await tempSocket();
		await using diplomat = createDiplomat({ path: place.path });
		const waiting = Promise.all([diplomat.ready(), diplomat.ready(), diplomat.ready()]);
		await using sidecar = await FakeSidecar.listen(place.path);
		await waiting;
		await diplomat.ready();
		expect(sidecar.connections).toHaveLength(1);
	});

	it('any number of callers make one socket where a sidecar is there already', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path);
		await using diplomat = createDiplomat({ path: place.path });
		await Promise.all([diplomat.ready(), diplomat.ready(), diplomat.ready(), diplomat.ping()]);
		expect(sidecar.connections).toHaveLength(1);
	});
});

describe('a baseline sidecar', () => {
	it.each(['null', 'unknown-func'] as const)('(hello: %s) is ready, and asked for each lookup', async (hello) => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path, { hello });
		sidecar.publish(fakeSnapshot('barista', 1, ['1.2.3.4:8765']));
		await using diplomat = createDiplomat({ path: place.path });
		expect(await diplomat.getService('barista')).toEqual({ host: '1.2.3.4', port: 8765, instance: '1.2.3.4:8765' });
		expect(await diplomat.getService('barista')).toMatchObject({ host: '1.2.3.4' });
		expect(diplomat.status()).toMatchObject({ baseline: true, sidecar: null, state: 'ready' });
		expect(sidecar.requestsOf('getService')).toHaveLength(2);
		expect(sidecar.requestsOf('watchService')).toHaveLength(0);
		expect(diplomat.pick('barista')).toBeUndefined();
		await expect(diplomat.getService('nobody')).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
	});

	it('passes on that it cannot watch or list', async () => {
		await using place = await tempSocket();
		await using _sidecar = await FakeSidecar.listen(place.path, { hello: 'unknown-func' });
		await using diplomat = await connect({ path: place.path });
		await expect(diplomat.getInstances('barista')).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
		await expect(diplomat.listServices()).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
		await expect(diplomat.watchService('barista').next()).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
	});

	it('is never sent a notice', async () => {
		await using place = await tempSocket();
		await using sidecar = await FakeSidecar.listen(place.path, {
			hello: 'null',
			handle: ({ func }) => (func === 'ping' ? 'hold' : undefined),
		});
		await using diplomat = await connect({ path: place.path });
		await expect(diplomat.request('ping', 1, { timeoutMs: 5 })).rejects.toMatchObject({ code: 'TIMEOUT' });
		await diplomat.getService('barista').catch(() => undefined);
		expect(sidecar.requestsOf('cancel')).toHaveLength(0);
	});
});
