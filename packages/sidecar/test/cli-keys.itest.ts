import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	waitFor,
	withPlainCommands,
} from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let place: TempSocket;
let file: string;
let sidecar: RunningProcess;

function write(keys: Record<string, unknown>): void {
	writeFileSync(file, JSON.stringify({ services: {}, keys }));
}

async function command(...args: string[]): Promise<ProcessResult> {
	await using process = runSidecar(args, { env: { SPOCK_SOCKET: place.path } });
	return await process.finished;
}

beforeAll(async () => {
	place = await tempSocket();
	file = join(place.directory, 'services.json');
	write({ 'app/limits': { max: 5 }, 'app/motd': 'two\nlines', 'app/name': 'höflich' });
	sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', file, '--log-level', 'debug']);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('sidecar kv', () => {
	it('get prints the value as it is, and 0', async () => {
		expect(await command('kv', 'get', 'app/limits')).toMatchObject({ exitCode: 0, stdout: '{"max":5}', stderr: '' });
		expect((await command('kv', 'get', 'app/motd')).stdout).toBe('two\nlines');
	});

	it('get of a key that is not there says so, and 1', async () => {
		const { exitCode, stdout, stderr } = await command('kv', 'get', 'app/none');
		expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
		expect(stderr).toContain('NO_SUCH_KEY: the key "app/none" does not exist');
		// The hint is a command that works as it is written.
		const hint = /`sidecar (.*)` shows the keys beside it/.exec(withPlainCommands(stderr))?.[1] ?? '';
		const shown = await command(...hint.split(' '));
		expect(shown).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('app/limits={') });
		expect((await command('kv', 'get', 'none')).stderr).toBe('sidecar: NO_SUCH_KEY: the key "none" does not exist\n');
	});

	it('get of a key that is misspelt names the one that was meant, in its folder or beside a misspelt folder', async () => {
		const meant = 'did you mean "app/limits"? `sidecar kv get --prefix app/` shows the keys beside it';
		for (const key of ['app/limit', 'app/Limits', 'ap/limits']) {
			const { exitCode, stderr } = await command('kv', 'get', key);
			const message = `the key ${JSON.stringify(key)} does not exist; ${meant}`;
			expect([exitCode, withPlainCommands(stderr)]).toEqual([1, `sidecar: NO_SUCH_KEY: ${message}\n`]);
		}
	});

	it('get --prefix prints a line for each key', async () => {
		const { exitCode, stdout } = await command('kv', 'get', '--prefix', 'app/');
		expect(exitCode).toBe(0);
		expect(stdout).toBe('app/limits={"max":5}\napp/motd="two\\nlines"\napp/name=höflich\n');
		expect(await command('kv', 'get', '--prefix', 'none/')).toMatchObject({ exitCode: 0, stdout: '' });
	});

	it('get --json prints the whole answer', async () => {
		const { stdout } = await command('kv', 'get', 'app/name', '--json');
		expect(JSON.parse(stdout)).toMatchObject({ key: 'app/name', value: 'höflich', source: 'live', ageMs: 0 });
	});

	it('wrong usage is 2, no sidecar 3', async () => {
		expect(await command('kv', 'get')).toMatchObject({ exitCode: 2 });
		expect(await command('kv', 'get', 'k'.repeat(513))).toMatchObject({ exitCode: 2 });
		expect(await command('kv', 'get', 'a', '--socket', '/nowhere/at.sock')).toMatchObject({ exitCode: 3 });
	});

	it('watch prints a line for each change, until Ctrl-C', async () => {
		await using one = runSidecar(['kv', 'watch', 'app/limits', '--socket', place.path]);
		await using all = runSidecar(['kv', 'watch', 'app/', '--prefix', '--json', '--socket', place.path]);
		await using lines = runSidecar(['kv', 'watch', 'app/', '--prefix', '--socket', place.path]);
		await waitFor('the first lines', () => one.stdout().includes('live  app/limits={"max":5}') && all.stdout() !== '');
		await waitFor('the first line of the prefix', () =>
			lines.stdout().includes('live  app/limits={"max":5}  app/motd='),
		);
		write({ 'app/limits': { max: 6 } });
		await waitFor('the change', () => one.stdout().includes('app/limits={"max":6}'));
		await waitFor('the first change of the prefix', () => lines.stdout().includes('\n'));
		write({ 'app/name': 'höflich' });
		await waitFor('what went', () => /live {2}- app\/motd$/m.test(lines.stdout()));
		write({});
		await waitFor('the end', () => one.stdout().includes('no such key'));
		await waitFor('the end of the prefix', () => all.stdout().includes('"entries":[]'));
		expect((await one.stop('SIGINT')).exitCode).toBe(0);
		write({ 'app/limits': { max: 5 }, 'app/motd': 'two\nlines', 'app/name': 'höflich' });
	});

	it('status tells of watched keys; neither it nor the log at its loudest holds a value', async () => {
		await waitFor('the file', async () => (await command('kv', 'get', 'app/name')).stdout === 'höflich');
		const { stdout } = await command('status');
		expect(stdout).toMatch(/^ {2}key app\/name +fresh +there +0 +\d+$/m);
		expect(stdout + sidecar.stdout() + sidecar.stderr()).not.toContain('höflich');
		expect(sidecar.stdout()).toContain('app/name');
	});
});
