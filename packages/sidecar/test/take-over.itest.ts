import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { type RunningProcess, runSidecar, startSidecar, type TempSocket, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { RawClient } from './raw-client.ts';

function servicesFile({ directory }: TempSocket, name = 'services.json', services: object = BARISTA): string {
	const file = join(directory, name);
	writeFileSync(file, JSON.stringify({ services }));
	return file;
}

const BARISTA = { barista: [{ host: '1.2.3.4', port: 8765 }] };

/** A sidecar that takes over; not waited for. */
function takeOver(path: string, ...args: string[]): RunningProcess {
	return runSidecar(['start', '--take-over', '--grace-ms', '0', '--socket', path, ...args]);
}

/** Has taken over, or started: it says where it listens. */
function listening(process: RunningProcess): Promise<unknown> {
	return waitFor('that it listens', () => {
		if (process.child.exitCode !== null) throw new Error(`it ended: ${process.stdout()}${process.stderr()}`);
		return process.stdout().includes('"msg":"listening"');
	});
}

const HELLO = { versions: [1], client: 'test', features: ['push', 'goaway'] };

describe('sidecar start --take-over', () => {
	it('starts as ever where there is nobody, and over a socket that a killed sidecar left', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using first = takeOver(place.path, '--services', services);
		await listening(first);
		expect(first.stdout()).toContain('no sidecar to replace');
		await first.stop('SIGKILL');
		await using second = takeOver(place.path, '--services', services);
		await listening(second);
		expect(await second.stop()).toMatchObject({ exitCode: 0 });
		expect(readdirSync(place.directory)).toEqual(['services.json']);
	});

	it('clients are told to move, a request in flight is answered, and the old one leaves with 0 when they have', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services]);
		await using client = await RawClient.open(place.path);
		await client.ask(1, 'hello', HELLO);
		await using next = takeOver(place.path, '--services', services);
		expect(await client.next()).toMatchObject({ event: 'goaway', data: { reason: 'upgrade' } });
		await listening(next);
		// Whoever does not move at once is served as before.
		expect(await client.ask(2, 'getService', { service: 'barista' })).toMatchObject({ data: { port: 8765 } });
		expect(old.child.exitCode).toBe(null);
		await client[Symbol.asyncDispose]();
		expect(await old.finished).toMatchObject({ exitCode: 0, stderr: '' });
		expect(readdirSync(place.directory)).toEqual(['services.json', 'sidecar.sock', 'sidecar.sock.take-over']);
		await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await asked.finished).toMatchObject({ exitCode: 0 });
	});

	it('ports change hands too', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services, '--listen', '127.0.0.1:0']);
		const port = await waitFor('the port', () => /"127\.0\.0\.1:(\d+)"/.exec(old.stdout())?.[1]);
		const ports = ['--listen', `127.0.0.1:${port}`, '--admin', '127.0.0.1:0'];
		await using next = takeOver(place.path, '--services', services, ...ports);
		await listening(next);
		expect(await old.finished).toMatchObject({ exitCode: 0 });
		const admin = await waitFor('its other port', () => /"address":"([^"]+)"/.exec(next.stdout())?.[1]);
		const metrics = await (await fetch(`http://${admin}/metrics`)).text();
		expect(metrics).toContain('spock_take_overs_total{step="finished"} 1');
		await using asked = runSidecar(['get', 'barista', '--connect', `127.0.0.1:${port}`]);
		expect(await asked.finished).toMatchObject({ exitCode: 0, stdout: '1.2.3.4:8765\n' });
	});

	it('one that cannot learn what the old one knows gives up, and the old one goes on untouched', async () => {
		await using place = await tempSocket();
		await using old = await startSidecar(place.path, ['--services', servicesFile(place)]);
		await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await asked.finished).toMatchObject({ exitCode: 0 });
		await using next = takeOver(place.path, '--consul', 'http://127.0.0.1:1', '--take-over-warm-up-ms', '300');
		const { exitCode, stdout } = await next.finished;
		expect([exitCode, stdout]).toEqual([1, expect.stringContaining('the sidecar in place goes on')]);
		expect(stdout).toContain('barista');
		expect(readdirSync(place.directory)).toEqual(['services.json', 'sidecar.sock', 'sidecar.sock.take-over']);
		await using again = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await again.finished).toMatchObject({ exitCode: 0 });
		expect(old.stdout()).not.toContain('handing over');
	});

	it('one that is killed half-way changes nothing, and does not stand in the way of the next', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services]);
		await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
		await asked.finished;
		await using killed = takeOver(place.path, '--consul', 'http://127.0.0.1:1');
		await waitFor('that it has begun', () => killed.stdout().includes('querying what'));
		expect(existsSync(`${place.path}.next`)).toBe(true);
		await using third = takeOver(place.path, '--services', services);
		expect(await third.finished).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('is taking over') });
		await killed.stop('SIGKILL');
		// The one in place has noticed, and tidied up.
		await waitFor('that the dead socket is gone', () => !existsSync(`${place.path}.next`));
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		expect(await old.finished).toMatchObject({ exitCode: 0 });
	});

	it('SIGTERM while it learns ends it with 0, and the old one goes on', async () => {
		await using place = await tempSocket();
		await using _old = await startSidecar(place.path, ['--services', servicesFile(place)]);
		await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
		await asked.finished;
		await using next = takeOver(place.path, '--consul', 'http://127.0.0.1:1');
		await waitFor('that it has begun', () => next.stdout().includes('querying what'));
		expect(await next.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
		await using again = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await again.finished).toMatchObject({ exitCode: 0 });
	});

	it('a sidecar that hangs is replaced, and leaves when it wakes up', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services]);
		await listening(old);
		old.child.kill('SIGSTOP');
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		expect(next.stdout()).toContain('does not answer');
		old.child.kill('SIGCONT');
		expect(await old.finished).toMatchObject({ exitCode: 0 });
		await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await asked.finished).toMatchObject({ exitCode: 0 });
	});

	it.each(['--listen', '--admin'])(
		'a sidecar that hangs and keeps its port of %s is replaced; the port follows',
		async (flag) => {
			await using place = await tempSocket();
			const services = servicesFile(place);
			await using old = await startSidecar(place.path, ['--services', services, flag, '127.0.0.1:0']);
			const port = await waitFor('the port', () => /127\.0\.0\.1:(\d+)"/.exec(old.stdout())?.[1]);
			await listening(old);
			old.child.kill('SIGSTOP');
			await using next = takeOver(place.path, '--services', services, flag, `127.0.0.1:${port}`);
			await waitFor('that it is told', () => next.stdout().includes('port is in use'));
			await listening(next);
			await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
			expect(await asked.finished).toMatchObject({ exitCode: 0 });
			old.child.kill('SIGCONT');
			expect(await old.finished).toMatchObject({ exitCode: 0 });
			const bound = flag === '--listen' ? 'port is free and served' : 'admin port listening';
			await waitFor('the port', () => next.stdout().includes(bound), 20_000);
			expect(await next.stop()).toMatchObject({ exitCode: 0, stderr: '' });
			expect(readdirSync(place.directory)).toEqual(['services.json']);
		},
	);

	it('a sidecar with small frames that knows many services is taken over too', async () => {
		await using place = await tempSocket();
		const names = Array.from({ length: 60 }, (_, at) => `a-service-with-a-long-name-${at}`);
		const services = servicesFile(
			place,
			'services.json',
			Object.fromEntries(names.map((name) => [name, BARISTA.barista])),
		);
		await using old = await startSidecar(place.path, ['--services', services, '--frame-bytes-max', '1024']);
		await using client = await RawClient.open(place.path);
		for (const [at, service] of names.entries()) await client.ask(at + 1, 'getService', { service });
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		expect(next.stdout()).toContain('the old sidecar leaves');
		await client[Symbol.asyncDispose]();
		expect(await old.finished).toMatchObject({ exitCode: 0 });
	});

	it('a client of the public socket cannot make a sidecar leave', async () => {
		await using place = await tempSocket();
		await using _old = await startSidecar(place.path, ['--services', servicesFile(place)]);
		await using client = await RawClient.open(place.path);
		for (const [at, func] of ['takeOver', 'begin', 'finish'].entries()) {
			expect(await client.ask(at, func, { step: 'finish' })).toMatchObject({ error: { code: 'UNKNOWN_FUNC' } });
		}
		expect(await client.ask(9, 'getService', { service: 'barista' })).toMatchObject({ data: { port: 8765 } });
	});

	it('one without a private socket, of an earlier version, is left alone, and the error says what to do', async () => {
		await using place = await tempSocket();
		await using earlier = createServer((socket) => socket.end()).listen(place.path);
		await once(earlier, 'listening');
		await using next = takeOver(place.path, '--services', servicesFile(place));
		const { exitCode, stdout } = await next.finished;
		expect([exitCode, stdout]).toEqual([1, expect.stringContaining('it is a sidecar of an earlier version')]);
		expect(stdout).toContain('stop it, then start this one');
		expect(readdirSync(place.directory)).toEqual(['services.json', 'sidecar.sock']);
		await using _client = await RawClient.open(place.path);
	});

	it('a sidecar whose private socket was deleted listens there again', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services]);
		await listening(old);
		rmSync(`${place.path}.take-over`);
		await waitFor('the socket', () => existsSync(`${place.path}.take-over`));
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		expect(await old.finished).toMatchObject({ exitCode: 0 });
	});

	it('a token of the public socket is not needed', async () => {
		await using place = await tempSocket();
		const token = join(place.directory, 'token');
		writeFileSync(token, 'a-token-of-some-length\n', { mode: 0o600 });
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, [
			'--services',
			services,
			'--token-file',
			token,
			'--token-on-socket',
		]);
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		expect(await old.finished).toMatchObject({ exitCode: 0 });
	});

	it('commands that follow something, or hold a registration, move too', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services]);
		await using watch = runSidecar(['watch', 'barista', '--socket', place.path]);
		await using register = runSidecar(['register', 'till', '--port', '80', '--socket', place.path]);
		await waitFor('both', () => watch.stdout().includes('live') && register.stdout().includes('registered'));
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		expect(await old.finished).toMatchObject({ exitCode: 0 });
		writeFileSync(services, JSON.stringify({ services: { barista: [{ host: 'new', port: 1 }] } }));
		await waitFor('the change', () => watch.stdout().includes('new:1'));
		await waitFor('that it is registered anew', () => register.stdout().match(/: registered/g)?.length === 2);
		await using asked = runSidecar(['get', 'till', '--socket', place.path]);
		expect(await asked.finished).toMatchObject({ exitCode: 0, stdout: '127.0.0.1:80\n' });
		expect([watch.stderr(), register.stderr()]).toEqual(['', '']);
		// What the new sidecar said first was known already, and is not printed again.
		const [, ...changes] = watch.stdout().trim().split('\n');
		expect(changes).toHaveLength(2);
		expect(changes.filter((line) => line.includes('+ new:1'))).toHaveLength(1);
		expect(await register.stop('SIGTERM')).toMatchObject({ exitCode: 0 });
	});

	it('one that stays when replaced is alive and not ready until a signal, which it exits at with 0', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		const stays = ['--stay-when-replaced', '--admin', '127.0.0.1:0'];
		await using old = await startSidecar(place.path, ['--services', services, ...stays]);
		const admin = await waitFor('its port', () => /"address":"(127[^"]+)"/.exec(old.stdout())?.[1]);
		const statusOf = async (page: string) => (await fetch(`http://${admin}/${page}`)).status;
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		await waitFor('that it waits', () => old.stdout().includes('replaced; waiting for a signal to exit'));
		expect(await Promise.all(['livez', 'readyz', 'metrics', ''].map(statusOf))).toEqual([200, 503, 200, 200]);
		expect(await (await fetch(`http://${admin}/metrics`)).text()).toContain('spock_phase{phase="stopped"} 1');
		await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await asked.finished).toMatchObject({ exitCode: 0 });
		expect(await old.stop()).toMatchObject({ exitCode: 0, stderr: '' });
		// It has left alone what is the other one's.
		expect(readdirSync(place.directory)).toEqual(['services.json', 'sidecar.sock', 'sidecar.sock.take-over']);
	});

	it('one that stays when replaced exits with 1 when the one in its place has gone, so that it is started again', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services, '--stay-when-replaced']);
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		await waitFor('that it waits', () => old.stdout().includes('replaced; waiting for a signal to exit'));
		expect(await next.stop('SIGKILL')).toMatchObject({ exitCode: null });
		const { exitCode, stdout } = await old.finished;
		expect([exitCode, stdout]).toEqual([1, expect.stringContaining('successor is gone; exiting to be restarted')]);
		await using again = takeOver(place.path, '--services', services);
		await listening(again);
		await using asked = runSidecar(['get', 'barista', '--socket', place.path]);
		expect(await asked.finished).toMatchObject({ exitCode: 0 });
	});

	it('one that stays when replaced, and is asked to end while clients still leave, does not wait for another signal', async () => {
		await using place = await tempSocket();
		const services = servicesFile(place);
		await using old = await startSidecar(place.path, ['--services', services, '--stay-when-replaced']);
		await using client = await RawClient.open(place.path);
		await client.ask(1, 'hello', HELLO);
		await using next = takeOver(place.path, '--services', services);
		await listening(next);
		await waitFor('that it waits for the client', () => old.stdout().includes('asking clients to leave'));
		old.child.kill('SIGTERM');
		await waitFor('that the signal is logged', () => old.stdout().includes('signal received'));
		await client[Symbol.asyncDispose]();
		expect(await old.finished).toMatchObject({ exitCode: 0 });
		expect(old.stdout()).not.toContain('waiting for a signal');
	});

	it('needs a path', async () => {
		await using process = runSidecar(['start', '--take-over', '--listen', '127.0.0.1:0']);
		expect(await process.finished).toMatchObject({ exitCode: 2, stdout: expect.stringContaining('--socket') });
	});
});
