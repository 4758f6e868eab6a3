import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import {
	FakeSidecar,
	freePort,
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	sidecarBin,
	spawnProcess,
	startFakeConsul,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
	withPlainCommands,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Diagnosis } from '../src/cli/commands/doctor/diagnosis.ts';

/** Any user that is not root and owns nothing here. */
const NOBODY = 65_534;

let place: TempSocket;
let sidecar: RunningProcess;
let app: Server;
let appPort: number;
let closedPort: number;

async function listen(server: Server): Promise<number> {
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
	app = createServer((socket) => socket.on('error', () => undefined));
	appPort = await listen(app);
	closedPort = await freePort();
	place = await tempSocket();
	const services = join(place.directory, 'services.json');
	const at = (port: number, status = 'passing') => ({ host: '127.0.0.1', port, status });
	writeFileSync(
		services,
		JSON.stringify({
			services: {
				barista: [at(appPort)],
				half: [at(appPort), at(closedPort)],
				ill: [at(appPort), { host: '10.0.0.3', port: 3, status: 'critical' }],
				dead: [at(appPort, 'critical')],
				refusing: [at(closedPort)],
			},
		}),
	);
	sidecar = await startSidecar(place.path, ['--services', services]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await new Promise((resolve) => app?.close(resolve) ?? resolve(undefined));
	await place?.[Symbol.asyncDispose]();
});

async function command(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<ProcessResult> {
	await using process = runSidecar(['doctor', ...args], { env: { SPOCK_SOCKET: place.path, ...env } });
	return await process.finished;
}

/** The results by their checks, and the exit code. */
async function diagnosed(args: readonly string[], env?: Readonly<Record<string, string>>) {
	const { exitCode, stdout } = await command([...args, '--json'], env);
	const diagnosis = JSON.parse(stdout) as Diagnosis;
	expect(exitCode).toBe(diagnosis.ok ? 0 : 1);
	expect(diagnosis.checks.map(({ check }) => check)).toEqual([
		...['socket', 'sidecar', 'registry', 'rights', 'service', 'instances', 'route'],
	]);
	const results = diagnosis.checks.map(({ result }) => result);
	return { diagnosis, results, of: (name: string) => diagnosis.checks.find(({ check }) => check === name) };
}

const ALL_OK = ['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok'];
const SKIPPED = 'not-checked';

describe('doctor', () => {
	it('a service that is found: every step is ok, and 0', async () => {
		const { exitCode, stdout } = await command(['barista']);
		expect(exitCode).toBe(0);
		expect(
			stdout.split('\n').map((line) => line.replaceAll(/\d+ ms|\d\.\d s|pid \d+/g, '…').replaceAll(/ +/g, ' ')),
		).toEqual([
			`socket ok ${place.path} accepts connections`,
			'sidecar ok @spock/sidecar/0.1.0, …, up …: ready',
			`registry ok local: ${join(place.directory, 'services.json')} is served`,
			'rights ok the sidecar may read: 5 services listed; registering is not checked, as no app has registered',
			'service ok barista has 1 instance, confirmed … ago',
			'instances ok 1 of 1 get work, all of them healthy',
			`route ok 127.0.0.1:${appPort} accepts (…)`,
			'',
			`all is well with the sidecar at ${place.path}`,
			'',
		]);
	});

	it('has JSON of a shape that stays', async () => {
		const { diagnosis } = await diagnosed(['barista']);
		expect(diagnosis).toMatchObject({ ok: true, sidecar: place.path, service: 'barista' });
		expect(diagnosis.checks[0]).toEqual({
			check: 'socket',
			result: 'ok',
			found: `${place.path} accepts connections`,
			next: null,
		});
	});

	it('without a service it checks the sidecar, the registry and the rights', async () => {
		const { results, diagnosis, of } = await diagnosed([]);
		expect(results).toEqual(['ok', 'ok', 'ok', 'ok', SKIPPED, SKIPPED, SKIPPED]);
		expect([diagnosis.service, of('route')?.found]).toEqual([
			null,
			expect.stringMatching(/^name one: .* doctor SERVICE/),
		]);
	});

	it('a name that is almost right: which was meant', async () => {
		const { results, of } = await diagnosed(['barrista']);
		expect(results).toEqual(['ok', 'ok', 'ok', 'ok', 'failed', SKIPPED, SKIPPED]);
		expect(of('service')).toMatchObject({
			found: 'no instance of barrista is registered',
			next: expect.stringMatching(/^did you mean "barista"\? `.* list` shows the names$/),
		});
	});

	it('conditions that no instance meets: without which they are found', async () => {
		const { of } = await diagnosed(['barista', '--tag', 'v9']);
		expect(withPlainCommands(of('service')?.next ?? '')).toBe(
			'`sidecar explain barista`, without --tag, shows all instances',
		);
	});

	it('an unhealthy instance beside a healthy one is a warning, with the reason; without a healthy one it is a failure', async () => {
		const ill = await diagnosed(['ill']);
		expect(ill.results).toEqual([...ALL_OK.slice(0, 5), 'warning', 'ok']);
		expect(ill.of('instances')?.found).toBe('1 of 2 get work; 10.0.0.3:3: a check is critical');
		const dead = await diagnosed(['dead']);
		expect(dead.results).toEqual([...ALL_OK.slice(0, 5), 'failed', SKIPPED]);
		expect(dead.of('route')?.found).toBe('no instance gets work');
	});

	it('a port that refuses: a failure if every instance does, else a warning', async () => {
		const all = await diagnosed(['refusing']);
		expect(all.results).toEqual([...ALL_OK.slice(0, 6), 'failed']);
		expect(all.of('route')).toMatchObject({
			found: `127.0.0.1:${closedPort}: refuses the connection`,
			next: expect.stringContaining('no process listens there'),
		});
		expect((await diagnosed(['half'])).results).toEqual([...ALL_OK.slice(0, 6), 'warning']);
	});

	it('no socket: what to do there, in a pod and elsewhere, and nothing else is checked', async () => {
		const SPOCK_SOCKET = join(place.directory, 'none.sock');
		const here = await diagnosed(['barista'], { SPOCK_SOCKET });
		expect(here.results).toEqual(['failed', SKIPPED, SKIPPED, SKIPPED, SKIPPED, SKIPPED, SKIPPED]);
		expect(withPlainCommands(here.of('socket')?.next ?? '')).toContain('start one with `sidecar start`');
		const KUBERNETES_SERVICE_HOST = '10.0.0.1';
		const pod = await command(['barista'], { SPOCK_SOCKET, KUBERNETES_SERVICE_HOST });
		expect(pod).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('kubectl get pod') });
		expect(pod.stdout).not.toMatch(/npx|start one/);
		const away = await diagnosed([], {
			SPOCK_SOCKET: join(place.directory, 'no', 'none.sock'),
			KUBERNETES_SERVICE_HOST,
		});
		expect(away.of('socket')).toMatchObject({
			found: `the directory ${join(place.directory, 'no')} does not exist`,
			next: expect.stringContaining('mount the shared volume'),
		});
	});

	it('the socket of a sidecar that was killed is stale', async () => {
		await using own = await tempSocket();
		await using killed = await startSidecar(own.path, ['--services', join(place.directory, 'services.json')]);
		await killed.stop('SIGKILL');
		const { results, of } = await diagnosed(['barista'], { SPOCK_SOCKET: own.path });
		expect(results[0]).toBe('failed');
		expect(of('socket')?.found).toContain(`${own.path} is stale: no process listens on it`);
	});

	it('a file that is no socket', async () => {
		const { of } = await diagnosed([], { SPOCK_SOCKET: join(place.directory, 'services.json') });
		expect(of('socket')).toMatchObject({
			result: 'failed',
			found: expect.stringMatching(/services\.json is (not a socket|stale)/),
		});
	});

	it('a socket that this user may not connect to: whose it is, its mode, and who this is', async () => {
		await using own = await tempSocket();
		const isRoot = process.getuid?.() === 0;
		await using _sidecar = await startSidecar(own.path, ['--services', join(place.directory, 'services.json')]);
		chmodSync(own.directory, 0o755);
		chmodSync(own.path, 0o000);
		if (isRoot) chownSync(own.path, 0, 0);
		const drop = `process.setgroups([]);process.setgid(${NOBODY});process.setuid(${NOBODY});`;
		const start = `${isRoot ? drop : ''}await import('${pathToFileURL(sidecarBin).href}')`;
		const args = ['--input-type=module', '--eval', start, 'doctor', '--json'];
		await using run = spawnProcess(process.execPath, args, { env: { SPOCK_SOCKET: own.path } });
		const { stdout, stderr } = await run.finished;
		expect(stderr).toBe('');
		const [socket] = (JSON.parse(stdout) as Diagnosis).checks;
		expect(socket).toMatchObject({ result: 'failed', next: expect.stringContaining('--socket-mode') });
		expect(socket?.found).toMatch(
			/^this process, user \d+ and group \d+, may not connect to .*, which is of user \d+ .* with mode 0000$/,
		);
	});

	it('a sidecar that accepts and does not answer, and one that wants a token', async () => {
		await using own = await tempSocket();
		await using stopped = await startSidecar(own.path, ['--services', join(place.directory, 'services.json')]);
		stopped.child.kill('SIGSTOP');
		const silent = await diagnosed(['--timeout', '300ms'], { SPOCK_SOCKET: own.path });
		stopped.child.kill('SIGCONT');
		expect(silent.results.slice(0, 3)).toEqual(['ok', 'failed', SKIPPED]);
		expect(silent.of('sidecar')?.found).toContain('did not answer');
		await using other = await tempSocket();
		const denial = {
			error: { code: 'ACL_DENIED', message: 'hello: the token is unknown', retryable: false, details: {} },
		} as const;
		await using _strict = await FakeSidecar.listen(other.path, { handle: () => denial });
		const refused = await diagnosed([], { SPOCK_SOCKET: other.path });
		expect(refused.of('sidecar')).toMatchObject({
			result: 'failed',
			found: expect.stringContaining('Give the token with --token-file'),
		});
	});

	it('a port where no sidecar listens', async () => {
		const { of } = await diagnosed(['--connect', `127.0.0.1:${closedPort}`]);
		expect(of('socket')).toMatchObject({
			result: 'failed',
			found: expect.stringContaining('ECONNREFUSED'),
			next: 'check that a sidecar was started with --listen at this address',
		});
	});

	it('a registry that has gone: since when, and what is known is checked on', async () => {
		await using consul = await startFakeConsul();
		consul.set('barista', [{ id: 'b', address: '127.0.0.1', port: appPort }]);
		await using own = await tempSocket();
		await using _sidecar = await startSidecar(own.path, ['--backend', 'consul', '--consul', consul.url]);
		const env = { SPOCK_SOCKET: own.path };
		await waitFor(
			'a look at the registry',
			async () => String((await diagnosed(['barista'], env)).results) === String(ALL_OK),
		);
		await consul.stop();
		// The held query ends first, with a connection that is reset; then connections are refused.
		const { results, of } = await waitFor('the outage', async () => {
			const found = await diagnosed(['barista'], env);
			return /ECONNREFUSED/.test(String(found.of('registry')?.found)) && found;
		});
		expect(results).toEqual(['ok', 'ok', 'failed', 'ok', 'warning', 'ok', 'ok']);
		expect(of('registry')).toMatchObject({
			found: expect.stringMatching(/has not answered for .*; old answers are served: .*ECONNREFUSED/),
			next: expect.stringMatching(/^it answered here until \d\d:\d\d:\d\d: is Consul running\?$/),
		});
	});

	it('wrong usage is 2', async () => {
		expect(await command(['a', 'b'])).toMatchObject({ exitCode: 2, stdout: '' });
		expect(await command(['--tag', 'v1'])).toMatchObject({
			exitCode: 2,
			stderr: expect.stringContaining('--tag needs a service'),
		});
		expect(await command(['a', '--timeout', 'x'])).toMatchObject({ exitCode: 2 });
	});
});
