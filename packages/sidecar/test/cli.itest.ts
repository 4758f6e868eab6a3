import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	spawnProcess,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
	withPlainCommands,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const SERVICES = {
	services: {
		barista: [{ host: '1.2.3.4', port: 8765 }],
		employee: [
			{ host: '10.0.0.1', port: 1, tags: ['v1'], meta: { rack: 'b7' } },
			{ host: '10.0.0.2', port: 2, tags: ['v2'], status: 'critical' },
		],
		till: [{ host: '10.0.0.3', port: 3, status: 'maintenance' }],
	},
};

let place: TempSocket;
let services: string;
let sidecar: RunningProcess;

async function command(...args: string[]): Promise<ProcessResult> {
	await using process = runSidecar(args, { env: { SPOCK_SOCKET: place.path } });
	return await process.finished;
}

beforeAll(async () => {
	place = await tempSocket();
	services = join(place.directory, 'services.json');
	writeFileSync(services, JSON.stringify(SERVICES));
	sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('commands that ask a running sidecar', () => {
	it('get prints host:port, and 0', async () => {
		expect(await command('get', 'barista')).toMatchObject({ exitCode: 0, stdout: '1.2.3.4:8765\n', stderr: '' });
	});

	it('get --json prints the whole answer', async () => {
		const { stdout } = await command('get', 'barista', '--json');
		expect(JSON.parse(stdout)).toEqual({ host: '1.2.3.4', port: 8765, instance: '1.2.3.4:8765' });
	});

	it('get --tag asks for instances with that tag', async () => {
		expect(await command('get', 'employee', '--tag', 'v1')).toMatchObject({ exitCode: 0, stdout: '10.0.0.1:1\n' });
		expect(await command('get', 'employee', '--tag', 'v2')).toMatchObject({ exitCode: 1 });
	});

	it('get --meta asks for instances with that metadata; --peer for what a peer exports, which a file has not', async () => {
		const found = { exitCode: 0, stdout: '10.0.0.1:1\n' };
		expect(await command('get', 'employee', '--meta', 'rack=b7')).toMatchObject(found);
		const { exitCode, stderr } = await command('get', 'employee', '--meta', 'rack=b8');
		expect([exitCode, stderr]).toEqual([1, expect.stringContaining('with the metadata {"rack":"b8"}')]);
		expect(await command('get', 'employee', '--peer', 'east')).toMatchObject({
			exitCode: 1,
			stderr: expect.stringContaining('by the peer "east"'),
		});
		expect(await command('get', 'employee', '--meta', 'rack')).toMatchObject({ exitCode: 2 });
	});

	it('no such service is 1, and so is one without a healthy instance; stderr says which', async () => {
		const unknown = await command('get', 'nobody');
		expect(unknown).toMatchObject({ exitCode: 1, stdout: '' });
		expect(withPlainCommands(unknown.stderr)).toBe(
			'sidecar: NO_SUCH_SERVICE: no instance of "nobody" is registered; `sidecar list` shows the names\n',
		);
		const { exitCode, stderr } = await command('get', 'till');
		expect([exitCode, stderr]).toEqual([1, expect.stringContaining('NO_HEALTHY_INSTANCE')]);
	});

	it('wrong usage is 2', async () => {
		for (const args of [
			['get'],
			['get', 'a', 'b'],
			['brew'],
			['get', 'a', '--colour', 'red'],
			['get', 'a', '--timeout', 'x'],
			['call', 'ping', '{'],
		]) {
			expect({ args, ...(await command(...args)) }).toMatchObject({ args, exitCode: 2, stdout: '' });
		}
	});

	it('no sidecar at that address is 3, and stderr says what to do', async () => {
		for (const name of ['get barista', 'list', 'status', 'health', 'call ping', 'watch barista']) {
			const { exitCode, stderr } = await command(...name.split(' '), '--socket', join(place.directory, 'none.sock'));
			expect([name, exitCode]).toEqual([name, 3]);
			expect(withPlainCommands(stderr)).toContain('`sidecar start`');
		}
	});

	it('list prints the names, their tags, and the health of what is watched; with --health of each, the worst first', async () => {
		const listed = (await command('list')).stdout.split('\n').map((line) => line.replace(/ +\d\/\d/, '').trim());
		expect(listed).toEqual([
			expect.stringMatching(/^SERVICE/),
			'barista',
			expect.stringMatching(/^employee +v1,v2$/),
			'till',
			'',
		]);
		const health = ['SERVICE   HEALTHY  TAGS', 'till      0/1', 'employee  1/2      v1,v2', 'barista   1/1', ''];
		expect(await command('list', '--health')).toMatchObject({ exitCode: 0, stdout: health.join('\n') });
		expect((await command('list')).stdout).toContain('till      0/1');
		expect(JSON.parse((await command('list', '--health', '--json')).stdout)).toMatchObject({
			services: [{ name: 'barista', healthy: 1, instances: 1 }, { healthy: 1, instances: 2 }, { healthy: 0 }],
		});
		expect(JSON.parse((await command('list', '--json')).stdout)).toMatchObject({
			services: [{ name: 'barista' }, {}, {}],
		});
	});

	it('status is for people, and --json for programs', async () => {
		expect((await command('status')).stdout).toMatch(/^@spock\/sidecar\/.*ready\nbackend +local up/);
		expect(JSON.parse((await command('status', '--json')).stdout)).toMatchObject({
			phase: 'serving',
			backend: { name: 'local' },
		});
	});

	it('health is ready and 0', async () => {
		expect(await command('health')).toMatchObject({ exitCode: 0, stdout: 'ready\n' });
	});

	it('call reaches any function, and tells its failure', async () => {
		expect(JSON.parse((await command('call', 'ping', '{"a":[1]}')).stdout)).toEqual({ a: [1] });
		expect(JSON.parse((await command('call', 'explain', '{"service":"employee"}', '--json')).stdout)).toMatchObject({
			instances: [{ included: true }, { included: false, reason: 'a check is critical' }],
		});
		expect(await command('call', 'brew')).toMatchObject({
			exitCode: 1,
			stderr: expect.stringContaining('UNKNOWN_FUNC: unknown function "brew"; expected one of: hello, '),
		});
		const { stderr } = await command('call', 'getServices');
		expect(stderr).toBe('sidecar: UNKNOWN_FUNC: unknown function "getServices"; did you mean "getService"?\n');
		expect(await command('call', 'getService', '{}')).toMatchObject({
			exitCode: 2,
			stderr: expect.stringContaining('service'),
		});
	});

	it('every command has --help, on stdout and with 0', async () => {
		for (const name of ['start', 'get', 'list', 'watch', 'kv', 'status', 'call', 'health', 'typegen']) {
			const { exitCode, stdout } = await command(name, '--help');
			expect([name, exitCode]).toEqual([name, 0]);
			expect(stdout).toContain(`Usage: sidecar ${name}`);
		}
	});

	it('watch prints a line for each change until Ctrl-C, which is 0, and comes back with the sidecar', async () => {
		await using own = await tempSocket();
		const file = join(own.directory, 'services.json');
		const write = (host: string): void =>
			writeFileSync(file, JSON.stringify({ services: { barista: [{ host, port: 1 }] } }));
		write('a');
		const args = ['--backend', 'local', '--services', file];
		await using first = await startSidecar(own.path, args);
		await using watch = runSidecar(['watch', 'barista', '--socket', own.path]);
		await waitFor('the first line', () => watch.stdout().includes('live  a:1'));
		write('b');
		await waitFor('the change', () => /live {2}\+ b:1$/m.test(watch.stdout()));
		await first.stop('SIGKILL');
		await waitFor('the loss', () => watch.stderr().includes('waiting for it to come back'));
		write('c');
		await using _second = await startSidecar(own.path, args);
		await waitFor('the new sidecar', () => /live {2}\+ c:1$/m.test(watch.stdout()));
		const { exitCode, stdout } = await watch.stop('SIGINT');
		expect(exitCode).toBe(0);
		expect(
			stdout
				.trimEnd()
				.split('\n')
				.map((line) => line.replace(/^.*live {2}/, '')),
		).toEqual([...['a:1', '- a:1', '+ b:1', '- b:1', '+ c:1']]);
	});
});

describe('sidecar start', () => {
	async function start(args: string[], env: Record<string, string> = {}): Promise<ProcessResult> {
		await using process = runSidecar(['start', ...args], { env });
		return await process.finished;
	}

	it('a bad services file is refused with file, line and reason, and 2', async () => {
		await using own = await tempSocket();
		const file = join(own.directory, 'bad.yaml');
		writeFileSync(file, 'services:\n  barista:\n    - host: 1.2.3.4\n      port: many\n');
		const { exitCode, stdout } = await start(['--services', file, '--socket', own.path]);
		expect(exitCode).toBe(2);
		expect(stdout).toMatch(/bad\.yaml:4:\d+: .*port/);
		expect(existsSync(own.path)).toBe(false);
	});

	it('a wrong setting is 2, and the log names it and where it came from', async () => {
		const cases: [string[], Record<string, string>, string][] = [
			[[], { SPOCK_GRACE_MS: 'soon' }, 'SPOCK_GRACE_MS'],
			[['--backend', 'etcd'], {}, '--backend'],
			[['--backend', 'consul', '--consul', 'ftp://x'], {}, 'ftp://x'],
			[['--listen', 'nowhere'], {}, 'nowhere'],
			[['--frame-bytes-max', '10'], {}, 'frameBytesMax'],
			[['--config', '/tmp/spock-no-such-file.yaml'], {}, 'spock-no-such-file'],
		];
		for (const [args, env, named] of cases) {
			const { exitCode, stdout } = await start(args, env);
			expect([named, exitCode]).toEqual([named, 2]);
			expect(stdout).toContain(named);
		}
	});

	it('refuses to start where another sidecar answers', async () => {
		const { exitCode, stdout } = await start(['--socket', place.path, '--services', services]);
		expect(exitCode).toBe(1);
		expect(stdout).toContain('already listens');
	});

	it('--print-config shows what is in force and why, and no secret', async () => {
		await using own = await tempSocket();
		const config = join(own.directory, 'spock.yaml');
		writeFileSync(config, 'graceMs: 5\nlogLevel: warn\n');
		const { exitCode, stdout } = await start(['--config', config, '--log-level', 'debug', '--print-config'], {
			CONSUL_HTTP_TOKEN: 's3cret',
			SPOCK_SOCKET: own.path,
		});
		expect(exitCode).toBe(0);
		expect(await start(['--print-config'], { SPOCK_CONFIG: '' })).toMatchObject({ exitCode: 0 });
		expect(stdout).toMatch(/^logLevel +debug +flag/m);
		expect(stdout).toMatch(/^graceMs +5ms +config file/m);
		expect(stdout).toMatch(/^socket +.* +environment: SPOCK_SOCKET/m);
		expect(stdout).not.toContain('s3cret');
	});

	it('says where it listens, what it knows, and a line that works when it is pasted', async () => {
		await using own = await tempSocket();
		await using process = await startSidecar(own.path, ['--services', services]);
		await waitFor('the line', () => process.stdout().includes('try it'));
		const text = process.stdout();
		expect(text).toContain(`"addresses":["${own.path}"]`);
		expect(text).toContain('"services":["barista","employee","till"]');
		const line = /"command":"([^"]*)/.exec(text)?.[1] ?? '';
		await using pasted = spawnProcess('sh', ['-c', line]);
		expect(await pasted.finished).toMatchObject({ exitCode: 0, stdout: '1.2.3.4:8765\n' });
	});

	it('a signal ends it cleanly: exit 0, and no socket is left', async () => {
		for (const signal of ['SIGINT', 'SIGTERM'] as const) {
			await using own = await tempSocket();
			await using process = await startSidecar(own.path, ['--services', services]);
			expect(await process.stop(signal)).toMatchObject({ exitCode: 0 });
			expect(existsSync(own.path)).toBe(false);
		}
	});

	it('the admin port serves probes and metrics', async () => {
		await using own = await tempSocket();
		await using process = await startSidecar(own.path, ['--services', services, '--admin', '127.0.0.1:0']);
		const address = await waitFor('the port', () => /"address":"(127\.0\.0\.1:\d+)"/.exec(process.stdout())?.[1]);
		await using asked = runSidecar(['get', 'barista', '--socket', own.path]);
		await asked.finished;
		expect((await fetch(`http://${address}/livez`)).status).toBe(200);
		const ready = await fetch(`http://${address}/readyz`);
		const checks = ['phase', 'registry'].map((name) => ({ name, ok: true, reason: null, since: expect.any(Number) }));
		expect([ready.status, await ready.json()]).toEqual([200, { ready: true, reasons: [], checks }]);
		const metrics = await (await fetch(`http://${address}/metrics`)).text();
		expect(metrics).toContain('spock_requests_total{func="getService",code="ok"} 1');
		expect(metrics).toContain('spock_request_duration_seconds_bucket');
		expect((await fetch(`http://${address}/nothing`)).status).toBe(404);
		expect((await fetch(`http://${address}/livez`, { method: 'POST' })).status).toBe(405);
	});

	it('an edit of the services file is served; a bad one is not, and is loud', async () => {
		await using own = await tempSocket();
		const file = join(own.directory, 'services.yaml');
		writeFileSync(file, 'services: { a: [{ host: h, port: 1 }] }');
		await using process = await startSidecar(own.path, ['--services', file]);
		writeFileSync(file, 'services: { a: [{ host: h, port: 2 }] }');
		const get = async (): Promise<string> => {
			await using asked = runSidecar(['get', 'a', '--socket', own.path]);
			return (await asked.finished).stdout;
		};
		await waitFor('the edit', async () => (await get()) === 'h:2\n');
		writeFileSync(file, 'services: { a: [{ host: h, port: 0 }] }');
		await waitFor('the complaint', () => process.stdout().includes('services file is invalid'));
		expect(await get()).toBe('h:2\n');
	});
});
