import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	sidecarBin,
	spawnProcess,
	startSidecar,
	tempSocket,
	waitFor,
} from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { EXAMPLES } from '../src/cli/help-format.ts';
import { settingAreas } from '../src/cli/settings/settings.ts';

/** A device whose disk is always full: Linux alone has it. */
const FULL = '/dev/full';

function isRunning({ child }: RunningProcess): boolean {
	return child.exitCode === null && child.signalCode === null;
}

/** Closes the reader's end of a pipe, and waits until that has happened. */
async function closeReader(stream: NodeJS.ReadableStream | null): Promise<void> {
	const closed = new Promise((resolve) => stream?.once('close', resolve));
	(stream as { destroy(): void } | null)?.destroy();
	await closed;
}

/** Runs a command whose reader is gone before it prints. */
async function unread(args: readonly string[], gone: readonly ('stdout' | 'stderr')[]): Promise<ProcessResult> {
	await using process = runSidecar(args);
	for (const name of gone) await closeReader(process.child[name]);
	return await process.finished;
}

/** Runs a shell line in which "$@" is the sidecar command with these arguments. */
function inShell(line: string, args: readonly string[]): RunningProcess {
	return spawnProcess('sh', ['-c', line, 'sh', process.execPath, sidecarBin, ...args]);
}

function writeServices(file: string, port: number): string {
	writeFileSync(file, JSON.stringify({ services: { barista: [{ host: 'a', port }] } }));
	return file;
}

/** What `sidecar get barista` prints. */
async function askedAt(path: string): Promise<string> {
	await using asked = runSidecar(['get', 'barista', '--socket', path]);
	return (await asked.finished).stdout;
}

describe('a command whose reader is gone', () => {
	it('ends in silence, with the exit code it would have had', async () => {
		await using place = await tempSocket();
		const services = writeServices(join(place.directory, 'services.json'), 1);
		await using _sidecar = await startSidecar(place.path, ['--services', services]);
		const at = ['--socket', place.path];
		for (const args of [
			['--help'],
			['--version'],
			['start', '--help'],
			['start', '--print-config'],
			['get', 'barista', ...at],
			['list', ...at],
			['status', ...at],
			['health', ...at],
			['call', 'ping', '[1]', ...at],
		]) {
			const { exitCode, stderr } = await unread(args, ['stdout']);
			expect([args, exitCode, stderr]).toEqual([args, 0, '']);
		}
	});

	it('keeps the exit code of its failure when nobody reads that either', async () => {
		expect(await unread(['brew'], ['stdout', 'stderr'])).toMatchObject({ exitCode: 2, signal: null });
		expect(await unread(['list', '--socket', '/no/such.sock'], ['stdout', 'stderr'])).toMatchObject({ exitCode: 3 });
	});

	it('is quiet in a pipeline of the shell', async () => {
		await using line = inShell('{ "$@"; echo "exit $?" >&2; } | true', ['start', '--help']);
		expect(await line.finished).toMatchObject({ stdout: '', stderr: 'exit 0\n' });
	});

	it('watch ends with the first line that nobody reads', async () => {
		await using place = await tempSocket();
		const services = writeServices(join(place.directory, 'services.json'), 1);
		await using _sidecar = await startSidecar(place.path, ['--services', services]);
		await using watch = runSidecar(['watch', 'barista', '--socket', place.path]);
		await waitFor('the first line', () => watch.stdout().includes('live  a:1'));
		await closeReader(watch.child.stdout);
		writeServices(services, 2);
		expect(await watch.finished).toMatchObject({ exitCode: 0, stderr: '' });
	});

	it.skipIf(!existsSync(FULL))('fails and says why when the disk is full', async () => {
		await using line = inShell(`exec "$@" >${FULL}`, ['--help']);
		expect(await line.finished).toMatchObject({
			exitCode: 1,
			stderr: expect.stringMatching(/^sidecar: the output cannot be written: ENOSPC.*\n$/),
		});
	});
});

describe.each(['json', 'pretty'])('the %s log of a sidecar', (format) => {
	const complaints = (process: RunningProcess): number =>
		process.stderr().split('the log cannot be written').length - 1;

	it('may lose its reader: lookups go on, stderr says it once, and a signal still ends it cleanly', async () => {
		await using place = await tempSocket();
		const services = writeServices(join(place.directory, 'services.json'), 1);
		const flags = ['--services', services, '--log-format', format, '--log-level', 'debug'];
		await using sidecar = await startSidecar(place.path, flags);
		await waitFor('the announcement', () => sidecar.stdout().includes('try it'));
		await closeReader(sidecar.child.stdout);
		expect(await askedAt(place.path)).toBe('a:1\n');
		writeServices(services, 2);
		await waitFor('the edit', async () => (await askedAt(place.path)) === 'a:2\n');
		expect([isRunning(sidecar), complaints(sidecar)]).toEqual([true, 1]);
		expect(await sidecar.stop()).toMatchObject({ exitCode: 0 });
		expect(existsSync(place.path)).toBe(false);
		expect(complaints(sidecar)).toBe(1);
	});

	it('may lose stderr too', async () => {
		await using place = await tempSocket();
		const services = writeServices(join(place.directory, 'services.json'), 1);
		await using sidecar = await startSidecar(place.path, ['--services', services, '--log-format', format]);
		await closeReader(sidecar.child.stderr);
		await closeReader(sidecar.child.stdout);
		writeServices(services, 2);
		await waitFor('the edit', async () => (await askedAt(place.path)) === 'a:2\n');
		expect(await sidecar.stop()).toMatchObject({ exitCode: 0, signal: null });
	});

	it.skipIf(!existsSync(FULL))('may be on a full disk from the first line on', async () => {
		await using place = await tempSocket();
		const services = writeServices(join(place.directory, 'services.json'), 1);
		const flags = ['--socket', place.path, '--grace-ms', '0', '--services', services, '--log-format', format];
		await using sidecar = inShell(`exec "$@" >${FULL}`, ['start', ...flags]);
		await waitFor('the socket', () => existsSync(place.path));
		expect(await askedAt(place.path)).toBe('a:1\n');
		expect(await sidecar.stop()).toMatchObject({ exitCode: 0 });
		expect(complaints(sidecar)).toBe(1);
	});
});

describe('with --json', () => {
	const asJson = async (...args: string[]) => {
		await using run = runSidecar(args);
		const { exitCode, stdout, stderr } = await run.finished;
		expect([stdout, stderr.trim().split('\n').length]).toEqual(['', 1]);
		return { ...(JSON.parse(stderr) as Readonly<Record<string, unknown>>), ended: exitCode };
	};

	it('a failure is one object on stderr, with the same exit code', async () => {
		await using place = await tempSocket();
		const services = writeServices(join(place.directory, 'services.json'), 1);
		await using _sidecar = await startSidecar(place.path, ['--services', services]);
		expect(await asJson('get', 'brista', '--json', '--socket', place.path)).toMatchObject({
			code: 'NO_SUCH_SERVICE',
			message: expect.stringMatching(/^no instance of "brista" is registered; did you mean "barista"/),
			exitCode: 1,
			ended: 1,
			retryable: false,
			details: { service: 'brista' },
		});
		expect(await asJson('call', 'brew', '--json', '--socket', place.path)).toMatchObject({ code: 'UNKNOWN_FUNC' });
	});

	it.each([
		['get', ['get', 'barista', '--json']],
		['watch', ['watch', 'barista', '--json']],
		['health, which has a program of its own', ['health', '--json']],
		['events', ['events', 'status', '--json']],
	])('%s says that no sidecar is there', async (_name, args) => {
		expect(await asJson(...args, '--socket', '/no/such.sock')).toMatchObject({
			code: 'NO_SIDECAR',
			exitCode: 3,
			ended: 3,
			retryable: true,
			details: { causeCode: 'ENOENT' },
		});
	});

	it.each([
		[['get', 'barista', '--json', '--brew'], "unknown option '--brew'", / get --help$/],
		[['get', '--json'], 'missing required argument', / get --help$/],
		[['kv', 'get', 'a', '--json', '--timeout', '10d'], 'unknown unit "d"', / kv get --help$/],
		[['brew', '--json'], 'unknown command', / --help$/],
		[['start', '--print-config', '--json', '--brew'], "unknown option '--brew'", / start --help$/],
		[['start', '--print-config', '--json', '--grace-ms', 'x'], '--grace-ms must be', / start --help$/],
	])('wrong usage says so, and where its help is: %j', async (args, message, help) => {
		expect(await asJson(...args)).toMatchObject({
			code: 'USAGE',
			exitCode: 2,
			ended: 2,
			message: expect.stringContaining(message),
			help: expect.stringMatching(help),
		});
	});
});

describe('the help', () => {
	const helpOf = async (...args: string[]): Promise<string> => {
		await using run = runSidecar([...args, '--help']);
		return (await run.finished).stdout;
	};

	it('of start is in groups by subject, with examples at its end, and fits into 80 columns', async () => {
		const help = await helpOf('start');
		const groups = [...help.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading);
		expect(groups).toEqual(['Options', ...settingAreas.map(([heading]) => heading), 'Examples']);
		expect(help).toMatch(/Examples:\n(?: {2}\S*.*sidecar\S* start .*\n)+$/);
		const [flags = ''] = help.split('Examples:');
		expect(flags.split('\n').filter((line) => line.length > 80 && line.trim().includes(' '))).toEqual([]);
	});

	it('of all has every command in a group, and names it as it was called', async () => {
		await using place = await tempSocket();
		const link = join(place.directory, 'spock');
		symlinkSync(sidecarBin, link);
		for (const bin of [link, join(import.meta.dirname, '../bin/spock.js')]) {
			await using run = spawnProcess(process.execPath, [bin, 'get', '--help']);
			const { stdout } = await run.finished;
			expect(stdout).toContain('Usage: spock get');
			expect(stdout).toMatch(/\n {2}\S.*spock(?:\.js)? get barista\n/);
			await using failed = spawnProcess(process.execPath, [bin, 'get', 'a', '--socket', '/no/such.sock']);
			expect((await failed.finished).stderr).toMatch(/^spock: no sidecar .*Start one with `.*spock(?:\.js)? start`/);
		}
		expect(await helpOf()).not.toMatch(/^(?:Other commands|Commands):/m);
	});
});

it('every example of the help is a command with flags that it has', async () => {
	for (const [path, lines] of Object.entries(EXAMPLES)) {
		await using run = runSidecar([...path.split(' '), '--help']);
		const { stdout } = await run.finished;
		for (const line of lines) {
			expect(stdout).toContain(line.slice(line.indexOf('sidecar ') + 'sidecar'.length));
			for (const [flag] of line.split(' -- ')[0]?.matchAll(/--[a-z-]+/g) ?? []) expect(stdout).toContain(`  ${flag}`);
		}
	}
});
