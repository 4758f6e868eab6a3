import { readFileSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { type RunningProcess, runSidecar, startSidecar, tempSocket, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

/** Says `up`, what signals it gets, and ends with 5 at SIGTERM. */
const APP = `
for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'])
	process.on(signal, () => console.log(signal));
process.on('SIGTERM', () => { console.log('SIGTERM'); process.exitCode = 5; clearInterval(alive); });
const alive = setInterval(() => undefined, 60_000);
console.log('up', ...process.argv.slice(2));
`;

function waitCommand(path: string, ...args: string[]): RunningProcess {
	return runSidecar(['wait', '--socket', path, ...args]);
}

const node = (script: string, ...args: string[]): string[] => ['--', process.execPath, '-e', script, ...args];

describe('sidecar wait', () => {
	it('starts the command once the sidecar is ready, and not before', async () => {
		await using place = await tempSocket();
		await using waiting = waitCommand(place.path, ...node('console.log("started")'));
		// Somebody who answers, and is not ready: its registry is nowhere.
		const away = ['--backend', 'consul', '--consul', 'http://127.0.0.1:1'];
		await using early = await startSidecar(place.path, away);
		await using one = runSidecar(['wait', '--socket', place.path, '--timeout', '300ms', ...node('')]);
		const { exitCode, stderr } = await one.finished;
		expect([exitCode, stderr]).toEqual([
			124,
			expect.stringMatching(/was not ready within 300ms .*backend consul has not answered yet/),
		]);
		expect(waiting.stdout()).toBe('');
		// What a probe may run where the app must not wait for the registry.
		await using status = runSidecar(['status', '--socket', place.path]);
		const answer = await status.finished;
		expect([answer.exitCode, answer.stdout.split('ECONNREFUSED').length - 1]).toEqual([0, 1]);
		await early.stop();
		await using _ready = await startSidecar(place.path, ['--backend', 'local']);
		expect(await waiting.finished).toMatchObject({ exitCode: 0, stdout: 'started\n', stderr: '' });
	});

	it('gives the command its arguments, its signals, and its exit code', async () => {
		await using place = await tempSocket();
		const script = join(place.directory, 'app.cjs');
		writeFileSync(script, APP);
		await using _ready = await startSidecar(place.path, ['--backend', 'local']);
		await using app = waitCommand(place.path, '--', process.execPath, script, '--socket', '-- x');
		await waitFor('the app', () => app.stdout() === 'up --socket -- x\n');
		for (const signal of ['SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const) {
			app.child.kill(signal);
			await waitFor(signal, () => app.stdout().endsWith(`${signal}\n`));
		}
		expect(await app.stop('SIGTERM')).toMatchObject({ exitCode: 5, signal: null, stderr: '' });
	});

	it.each(['SIGKILL', 'SIGTERM', 'SIGUSR1'] as const)('dies of %s if the command has', async (signal) => {
		await using place = await tempSocket();
		await using _ready = await startSidecar(place.path, ['--backend', 'local']);
		await using app = waitCommand(place.path, '--', 'sh', '-c', `kill -${signal.slice(3)} $$; sleep 60`);
		expect(await app.finished).toMatchObject({ exitCode: null, signal });
	});

	it('writes no second core file: a command that has left one ends it with 128 and the signal', async () => {
		await using place = await tempSocket();
		await using _ready = await startSidecar(place.path, ['--backend', 'local']);
		await using app = waitCommand(place.path, '--', 'sh', '-c', 'ulimit -c 0; kill -ABRT $$; sleep 60');
		expect(await app.finished).toMatchObject({ exitCode: 134, signal: null });
	});

	it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'] as const)(
		'a %s while it waits ends it at once',
		async (signal) => {
			await using place = await tempSocket();
			await using waiting = waitCommand(place.path, '--timeout', '0', ...node('console.log("started")'));
			await waitFor('its handlers', () => caught(waiting.pid, signal));
			expect(await waiting.stop(signal)).toMatchObject({ exitCode: null, signal, stdout: '' });
		},
	);

	it('without a command it only waits', async () => {
		await using place = await tempSocket();
		await using waiting = waitCommand(place.path);
		await using _ready = await startSidecar(place.path, ['--backend', 'local']);
		expect(await waiting.finished).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
	});

	it('says what it waited for in vain, and does not run the command', async () => {
		await using place = await tempSocket();
		await using waiting = waitCommand(place.path, '--timeout', '0.2s', ...node('console.log("started")'));
		const { exitCode, stdout, stderr } = await waiting.finished;
		expect([exitCode, stdout]).toEqual([124, '']);
		expect(stderr).toMatch(
			new RegExp(`^sidecar: the sidecar at ${place.path} was not ready within 200ms .*nothing exists at that path`),
		);
	});

	it('a command that is not there is 127, one that is no program 126, as in a shell', async () => {
		await using place = await tempSocket();
		await using _ready = await startSidecar(place.path, ['--backend', 'local']);
		await using missing = waitCommand(place.path, '--', 'no-such-program');
		expect(await missing.finished).toMatchObject({
			exitCode: 127,
			stderr: 'sidecar: command not found: no-such-program\n',
		});
		await using strange = waitCommand(place.path, '--', place.directory);
		expect(await strange.finished).toMatchObject({
			exitCode: 126,
			stderr: expect.stringContaining('cannot be started'),
		});
	});

	it('a wrong token is not waited out', async () => {
		await using place = await tempSocket();
		const env = { SPOCK_TOKEN: 'a-token-of-sixteen-characters' };
		await using _ready = await startSidecar(place.path, ['--backend', 'local', '--token-on-socket'], { env });
		await using waiting = waitCommand(place.path, '--timeout', '0', ...node(''));
		expect(await waiting.finished).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ACL_DENIED') });
		await using wrong = runSidecar(['wait', '--timeout', '5 s']);
		expect(await wrong.finished).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--timeout') });
	});
});

describe('the bundle of the commands that probes run', () => {
	const bundle = readFileSync(fileURLToPath(new URL('../dist/lean/lean.js', import.meta.url)), 'utf8');

	it('is one small file over what Node has', () => {
		const imported = [...bundle.matchAll(/\b(?:from|import\()\s*["']([^"']+)["']/g)].map(([, name = '']) => name);
		expect(imported.filter((name) => !builtinModules.includes(name.replace(/^node:/, '')))).toEqual([]);
		expect(imported).toContain('net');
		expect(bundle.length).toBeLessThan(56 * 1024);
	});

	it.each(['health', 'wait'])('%s has the flags there that its help shows', async (name) => {
		await using help = runSidecar([name, '--help']);
		const { stdout } = await help.finished;
		const shown = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag);
		expect(shown).toContain('--timeout');
		for (const flag of shown) expect(bundle).toContain(`"${flag}"`);
	});
});

/** True if the process has a handler for the signal, as the kernel has it. */
function caught(pid: number, signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGUSR1'): boolean {
	const numbers = { SIGHUP: 1, SIGINT: 2, SIGUSR1: 10, SIGTERM: 15 };
	const [, mask = '0'] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
	const isHandled = ((BigInt(`0x${mask}`) >> BigInt(numbers[signal] - 1)) & 1n) === 1n;
	// Node has one for SIGUSR1 from its start; ours are all set together.
	return isHandled && (signal !== 'SIGUSR1' || caught(pid, 'SIGHUP'));
}
