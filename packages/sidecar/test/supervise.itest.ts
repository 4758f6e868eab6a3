import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';

import {
	makeAuthority,
	type RunningProcess,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RawClient } from './raw-client.ts';

type Line = Readonly<Record<string, unknown>>;

function servicesFile({ directory }: TempSocket): string {
	const file = join(directory, 'services.json');
	writeFileSync(file, JSON.stringify({ services: { barista: [{ host: '1.2.3.4', port: 8765 }] } }));
	return file;
}

function supervised(place: TempSocket, ...flags: string[]): Promise<RunningProcess> {
	const args = ['--supervise', '--services', servicesFile(place), '--log-level', 'debug', ...flags];
	return startSidecar(place.path, args);
}

/** Lines of the log whose message has this in it. */
function lines(process: RunningProcess, message: string): Line[] {
	return process
		.stdout()
		.split('\n')
		.filter((line) => line.endsWith('}') && line.includes(message))
		.map((line) => JSON.parse(line) as Line);
}

/** The process that serves, after so many crashes. */
function worker(process: RunningProcess, crashes = 0): Promise<number> {
	return waitFor(`worker ${crashes}`, () => lines(process, '"msg":"serving"')[crashes]?.['pid'] as number | undefined);
}

function standby(process: RunningProcess, count = 1): Promise<number> {
	return waitFor('a standby', () => lines(process, 'a standby is ready')[count - 1]?.['standby'] as number | undefined);
}

/** True while a process is there that is no zombie. */
function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
	} catch {
		return false;
	}
	const stat = `/proc/${pid}/stat`;
	return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

/** Files of an authority, and the flags that name those of a listener. */
function secrets({ directory }: TempSocket) {
	const authority = makeAuthority();
	const { cert, key } = authority.issue();
	const file = (name: string, text: string): string => {
		writeFileSync(join(directory, name), text);
		return join(directory, name);
	};
	const token = file('token', 'a-token-of-some-length');
	const files = [
		'--tls-cert',
		file('cert.pem', cert),
		'--tls-key',
		file('key.pem', key),
		'--token-file',
		token,
	] as const;
	return { ca: file('ca.pem', authority.ca), files };
}

/** Listens at a port of this machine. */
async function occupy(port: number): Promise<Server> {
	const server = createServer().listen(port, '127.0.0.1');
	await once(server, 'listening');
	return server;
}

async function get(place: TempSocket): Promise<unknown> {
	await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
	return (await asked.finished).stdout;
}

describe('sidecar start --supervise', () => {
	it('serves as ever; SIGTERM ends all its processes, with the exit code of the worker, and leaves no socket', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place, '--supervise-stable-ms', '1');
		const pids = [await worker(process), await standby(process)];
		expect(await get(place)).toBe('1.2.3.4:8765\n');
		expect(await process.stop('SIGTERM')).toMatchObject({ exitCode: 0, stderr: '' });
		await waitFor('that all are gone', () => !pids.some(isAlive));
		expect(readdirSync(place.directory)).toEqual(['services.json']);
	});

	it('TLS and tokens are the worker’s: the supervisor passes on bytes, also to the next worker', async () => {
		await using place = await tempSocket();
		const { ca, files } = secrets(place);
		const token = files[5];
		await using process = await supervised(place, '--listen', 'tls://127.0.0.1:0', ...files);
		const port = await waitFor('the port', () => /tls:\/\/127\.0\.0\.1:(\d+)/.exec(process.stdout())?.[1]);
		const target = ['get', 'barista', '--connect', `tls://127.0.0.1:${port}`, '--tls-ca', ca];
		for (const crashes of [0, 1]) {
			const pid = await worker(process, crashes);
			await using admitted = runSidecar([...target, '--token-file', token]);
			expect((await admitted.finished).stdout).toBe('1.2.3.4:8765\n');
			await using denied = runSidecar(target);
			expect((await denied.finished).stderr).toContain('ACL_DENIED');
			if (crashes === 0) globalThis.process.kill(pid, 'SIGKILL');
		}
	});

	it('TLS: of connections that shake hands the oldest makes room, and they keep nobody out', async () => {
		await using place = await tempSocket();
		const { ca, files } = secrets(place);
		await using process = await supervised(place, '--listen', 'tls://127.0.0.1:0', '--strangers-max', '2', ...files);
		const port = await waitFor('the port', () => /tls:\/\/127\.0\.0\.1:(\d+)/.exec(process.stdout())?.[1]);
		const open = () => createConnection({ port: Number(port), host: '127.0.0.1' }).on('error', () => undefined);
		const oldest = open().resume();
		await once(oldest, 'connect');
		const silent = [open(), open()];
		await once(oldest, 'close');
		const target = ['get', 'barista', '--connect', `tls://127.0.0.1:${port}`, '--tls-ca', ca, '--token-file', files[5]];
		await waitFor('an answer', async () => {
			await using asked = runSidecar(target);
			return (await asked.finished).stdout === '1.2.3.4:8765\n';
		});
		for (const socket of silent) socket.destroy();
	});

	it('SIGTERM to all its processes at once is one signal: a client that is served is served to its end', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place);
		const pid = await worker(process);
		await using client = await RawClient.open(place.path);
		await client.ask(1, 'ping');
		// To the worker alone it is no signal at all.
		globalThis.process.kill(pid, 'SIGTERM');
		expect(await client.ask(2, 'ping', 'still')).toMatchObject({ data: 'still' });
		process.child.kill('SIGTERM');
		globalThis.process.kill(pid, 'SIGTERM');
		await waitFor('that it waits', () => lines(process, 'waiting for clients').length > 0);
		globalThis.process.kill(pid, 'SIGTERM');
		expect(await client.ask(3, 'ping', 'yet')).toMatchObject({ data: 'yet' });
		expect(lines(process, 'SIGTERM: ending')).toHaveLength(1);
		await client[Symbol.asyncDispose]();
		expect(await process.finished).toMatchObject({ exitCode: 0 });
	});

	it('a client that is served while it ends is served to its end; a second signal is passed on too', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place);
		await using client = await RawClient.open(place.path);
		await client.ask(1, 'ping');
		process.child.kill('SIGTERM');
		await waitFor('that it waits', () => lines(process, 'waiting for clients').length > 0);
		// New connections come through still.
		await using late = await RawClient.open(place.path);
		expect(await late.ask(1, 'ping', 'late')).toMatchObject({ data: 'late' });
		expect(await process.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
	});

	it('a worker that crashes is replaced by the standby; status and metrics tell; nothing is left of it', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place, '--supervise-stable-ms', '1', '--admin', '127.0.0.1:0');
		const [first, second] = [await worker(process), await standby(process)];
		globalThis.process.kill(first, 'SIGKILL');
		expect(await get(place)).toBe('1.2.3.4:8765\n');
		expect(await worker(process, 1)).toBe(second);
		await using asked = runSidecar(['status', '--json', '--socket', place.path]);
		expect(JSON.parse((await asked.finished).stdout)).toMatchObject({
			pid: second,
			supervision: { pid: process.pid, restarts: 1, lastExit: { code: null, signal: 'SIGKILL' } },
		});
		await using shown = runSidecar(['status', '--socket', place.path]);
		expect((await shown.finished).stdout).toMatch(/^supervisor +pid \d+, 1 crash, the last by SIGKILL/m);
		const address = await waitFor('the port', () => lines(process, 'admin port')[1]?.['address']);
		const metrics = await (await fetch(`http://${address}/metrics`)).text();
		expect(metrics).toContain('spock_worker_crashes_total 1');
		expect(metrics).toContain('spock_worker_last_crash_timestamp_seconds{reason="SIGKILL"}');
		// Waited for by its parent: no zombie either.
		expect(existsSync(`/proc/${first}`)).toBe(false);
		await standby(process, 2);
	});

	it('one that crashes at once again and again is backed off, and reported; who connects meanwhile is served then', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place);
		await using client = await RawClient.open(place.path);
		for (let crash = 0; crash < 3; crash++) globalThis.process.kill(await worker(process, crash), 'SIGKILL');
		const reports = await waitFor('three reports', () => {
			const found = lines(process, 'the worker has ended');
			return found.length === 3 && found;
		});
		expect(reports.map((report) => report['restarts'])).toEqual([1, 2, 3]);
		for (const report of reports) expect(report['restartMs']).toBeGreaterThan(0);
		expect(await get(place)).toBe('1.2.3.4:8765\n');
		expect(lines(process, 'a standby is ready')).toEqual([]);
		await client[Symbol.asyncDispose]();
	});

	it('the sockets outlive a worker that leaves by itself: one whose admin port is another’s', async () => {
		await using place = await tempSocket();
		const free = await occupy(0);
		const { port } = free.address() as AddressInfo;
		free.close();
		await once(free, 'close');
		await using process = await supervised(place, '--admin', `127.0.0.1:${port}`);
		await waitFor('the first one', () => lines(process, 'admin port').length === 1);
		globalThis.process.kill(await worker(process), 'SIGKILL');
		const other = await waitFor('the port', () => occupy(port).catch(() => undefined));
		await waitFor('that it has left', () => lines(process, 'the worker has ended').some(({ code }) => code !== null));
		other.close();
		await waitFor('the next one', () => lines(process, 'admin port').length === 2);
		expect(await get(place)).toBe('1.2.3.4:8765\n');
		expect(await process.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
		expect(existsSync(place.path)).toBe(false);
	});

	it('a signal while it is backing off ends it', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place);
		for (let crash = 0; crash < 2; crash++) globalThis.process.kill(await worker(process, crash), 'SIGKILL');
		await waitFor('the second report', () => lines(process, 'the worker has ended').length === 2);
		expect(await process.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
		expect(existsSync(place.path)).toBe(false);
	});

	it('a worker that hangs is killed and replaced', async () => {
		await using place = await tempSocket();
		const flags = ['--supervise-stable-ms', '1', '--supervise-hang-ms', '1500'];
		await using process = await supervised(place, ...flags);
		const hung = await worker(process);
		await standby(process);
		globalThis.process.kill(hung, 'SIGSTOP');
		await waitFor('the report', () => lines(process, 'does not answer: it is killed').length > 0);
		expect(await get(place)).toBe('1.2.3.4:8765\n');
	});

	it('without a standby a restart takes a start, and there is one process less', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place, '--supervise-stable-ms', '1', '--supervise-standby', 'off');
		const first = await worker(process);
		await using client = await RawClient.open(place.path);
		await client.ask(1, 'ping');
		await waitFor('that it holds', async () => lines(process, '"phase":"serving"').length > 0);
		globalThis.process.kill(first, 'SIGKILL');
		expect(await get(place)).toBe('1.2.3.4:8765\n');
		expect(lines(process, 'a standby is ready')).toEqual([]);
	});

	it('when the supervisor is killed, the worker sends its clients away, serves them until they go, and leaves nothing', async () => {
		await using place = await tempSocket();
		await using process = await supervised(place, '--supervise-stable-ms', '1');
		const pids = [await worker(process), await standby(process)];
		await using client = await RawClient.open(place.path);
		await client.ask(1, 'hello', { versions: [1], features: ['goaway'] });
		process.child.kill('SIGKILL');
		expect(await client.next()).toMatchObject({ event: 'goaway', data: { reason: 'upgrade' } });
		expect(await client.ask(2, 'getService', { service: 'barista' })).toMatchObject({ data: { port: 8765 } });
		await client[Symbol.asyncDispose]();
		await waitFor('that all are gone', () => !pids.some(isAlive));
		// The path is free for the next one.
		await using next = await supervised(place);
		await worker(next);
		expect(await get(place)).toBe('1.2.3.4:8765\n');
	});

	it('what is wrong from the start is told once, with the exit code it has without a supervisor', async () => {
		await using place = await tempSocket();
		await using wrong = runSidecar(['start', '--supervise', '--socket', place.path, '--backend', 'etcd']);
		expect(await wrong.finished).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('--backend') });
		await using _first = await supervised(place);
		await using second = runSidecar(['start', '--supervise', '--socket', place.path]);
		expect(await second.finished).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('already listens') });
		await using own = await tempSocket();
		const taken = await occupy(0);
		const admin = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
		await using third = runSidecar(['start', '--supervise', '--socket', own.path, '--admin', admin]);
		expect(await third.finished).toMatchObject({
			exitCode: 1,
			stdout: expect.stringContaining(`admin port at ${admin}`),
		});
		taken.close();
		await using alone = runSidecar(['start', '--supervised']);
		expect(await alone.finished).toMatchObject({ exitCode: 2 });
	});

	it('--take-over: a supervised one takes the place of a supervised one, which ends with 0', async () => {
		await using place = await tempSocket();
		await using old = await supervised(place, '--supervise-stable-ms', '1', '--listen', '127.0.0.1:0');
		const pids = [await worker(old), await standby(old)];
		const port = await waitFor('the port', () => /"127\.0\.0\.1:(\d+)"/.exec(old.stdout())?.[1]);
		await using next = runSidecar([
			...['start', '--take-over', '--supervise', '--supervise-stable-ms', '1', '--log-level', 'debug'],
			...['--socket', place.path, '--listen', `127.0.0.1:${port}`, '--services', servicesFile(place)],
		]);
		expect(await old.finished).toMatchObject({ exitCode: 0, stderr: '' });
		await waitFor('that all are gone', () => !pids.some(isAlive));
		const first = await worker(next);
		await standby(next);
		// Its own worker is restarted in its own place.
		globalThis.process.kill(first, 'SIGKILL');
		await worker(next, 1);
		expect(await get(place)).toBe('1.2.3.4:8765\n');
		expect(await next.stop()).toMatchObject({ exitCode: 0, stderr: '' });
	});
});
