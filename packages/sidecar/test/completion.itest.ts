import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type RunningProcess, runSidecar, startSidecar, type TempSocket, tempSocket } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let place: TempSocket;
let sidecar: RunningProcess;
let env: Record<string, string>;

beforeAll(async () => {
	place = await tempSocket();
	const services = join(place.directory, 'services.json');
	writeFileSync(services, '{"services":{"barista":[{"host":"a","port":1}],"till":[{"host":"b","port":2}]}}');
	env = { SPOCK_SOCKET: place.path };
	sidecar = await startSidecar(place.path, ['--services', services]);
});

afterAll(async () => {
	await sidecar?.[Symbol.asyncDispose]();
	await place?.[Symbol.asyncDispose]();
});

describe('the command that the scripts call', () => {
	async function offered(...words: string[]): Promise<string> {
		await using asked = runSidecar(['__complete', '--', ...words], { env });
		const { exitCode, stdout, stderr } = await asked.finished;
		expect([exitCode, stderr]).toEqual([0, '']);
		return stdout;
	}

	it('offers the names of services, functions and shells, with what the shell must do', async () => {
		expect(await offered('get', '')).toBe('barista\ntill\n:\n');
		expect(await offered('call', 'getS')).toBe('getService\n:\n');
		expect(await offered('completion', '')).toBe('bash\nzsh\nfish\n:\n');
		expect(await offered('start', '--services', '')).toBe(':files\n');
		expect(await offered('kv', 'g')).toBe('get\tprint the value of a key\n:\n');
	});

	it('offers nothing, and says nothing, where no sidecar answers or a flag is wrong', async () => {
		expect(await offered('get', '--socket', '/no/such.sock', '')).toBe(':\n');
		expect(await offered('get', '--socket', '/a', '--connect', 'x', '')).toBe(':\n');
	});

	it('is no part of the help', async () => {
		await using help = runSidecar(['--help']);
		expect((await help.finished).stdout).not.toContain('__complete');
	});
});

it('an unknown shell is wrong usage', async () => {
	await using asked = runSidecar(['completion', 'tcsh']);
	expect(await asked.finished).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('bash, zsh, fish') });
});
