import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
	type ProcessResult,
	runSidecar,
	startSidecar,
	type TempSocket,
	tempSocket,
	withPlainCommands,
} from '@spock/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const YAML = `
services: # of this app
  order-desk: []
  barista: [{ host: 1.2.3.4, port: 8765 }]
`;

let place: TempSocket;

async function typegen(...args: string[]): Promise<ProcessResult> {
	await using process = runSidecar(['typegen', ...args], { cwd: place.directory, env: { SPOCK_SOCKET: place.path } });
	return await process.finished;
}

const path = (name: string): string => join(place.directory, name);
const read = (name: string): string => readFileSync(path(name), 'utf8');
const write = (name: string, text: string): void => writeFileSync(path(name), text);

beforeAll(async () => {
	place = await tempSocket();
	mkdirSync(path('src'), { recursive: true });
});
afterAll(() => place?.[Symbol.asyncDispose]());
beforeEach(() => write('services.yaml', YAML));

describe('sidecar typegen', () => {
	it('prints the module, or writes it; the file says where it is from, as seen from itself', async () => {
		const { exitCode, stdout } = await typegen('--services', 'services.yaml');
		expect([exitCode, stdout.split('\n')[0]]).toEqual([0, expect.stringContaining('from services.yaml.')]);
		expect(stdout).toMatch(/\tbarista: 'barista',\n\t'order-desk': 'order-desk',\n} as const;/);
		const written = await typegen('--services', 'services.yaml', '--out', 'src/services.ts');
		expect(written).toMatchObject({ exitCode: 0, stdout: 'src/services.ts is written: 2 services\n' });
		expect(read('src/services.ts')).toBe(stdout.replace('services.yaml', '../services.yaml'));
	});

	it('--check is 0 while the file is current, else 1 with the difference, and changes nothing', async () => {
		const args = ['--services', 'services.yaml', '--out', 'checked.ts'];
		const missing = await typegen(...args, '--check');
		expect(missing).toMatchObject({ exitCode: 1, stdout: '' });
		expect(withPlainCommands(missing.stderr)).toBe(
			'sidecar: checked.ts does not exist: generate it with `sidecar typegen --services services.yaml --out checked.ts`\n',
		);
		expect(existsSync(path('checked.ts'))).toBe(false);
		await typegen(...args);
		const current = await typegen(...args, '--check');
		expect(current).toMatchObject({ exitCode: 0, stdout: 'checked.ts is up to date: 2 services\n' });
		write('services.yaml', YAML.replace('order-desk', 'counter'));
		const before = read('checked.ts');
		const { exitCode, stderr } = await typegen(...args, '--check');
		expect([exitCode, stderr]).toEqual([1, expect.stringContaining('checked.ts is out of date: generate it with')]);
		expect(stderr).toContain("- \t'order-desk': 'order-desk',\n+ \tcounter: 'counter',\n");
		expect(read('checked.ts')).toBe(before);
	});

	it('does not touch a file that is current', async () => {
		const args = ['--services', 'services.yaml', '--out', 'kept.ts'];
		await typegen(...args);
		const { mtimeNs } = statSync(path('kept.ts'), { bigint: true });
		expect((await typegen(...args)).stdout).toBe('kept.ts is up to date: 2 services\n');
		expect(statSync(path('kept.ts'), { bigint: true }).mtimeNs).toBe(mtimeNs);
	});

	it.each([
		['a file that is not there', ['--services', 'none.json'], /the services file none\.json cannot be read: ENOENT/],
		[
			'a bad one, with its line',
			['--services', 'bad.yaml'],
			/bad\.yaml:3:6: .* \(\S*docs\/guide\/backends\.md describes the format\)/,
		],
		['a name that is there twice', ['--services', 'twice.json'], /twice\.json:1:\d+: .*unique/],
		['no name at all', ['--services', 'empty.yaml'], /empty\.yaml has no services, .*: add one first/],
		['a file and a sidecar', ['--services', 'services.yaml', '--socket', 's'], /either --services or the address/],
		['a check of nothing', ['--services', 'services.yaml', '--check'], /--check needs --out FILE/],
		['a place that is none', ['--services', 'services.yaml', '--out', 'no/a.ts'], /--out cannot be written: ENOENT/],
		['a place that is a directory', ['--services', 'services.yaml', '--out', 'src'], /--out cannot be read: EISDIR/],
	])('%s is 2, and stderr says what to do', async (_, args, said) => {
		write('bad.yaml', 'services:\n  a: []\n  b: 7\n');
		write('twice.json', '{"services":{"a":[],"a":[]}}');
		write('empty.yaml', 'services: {}\n');
		const { exitCode, stdout, stderr } = await typegen(...args);
		expect([exitCode, stdout]).toEqual([2, '']);
		expect(stderr).toMatch(said);
	});

	it('asks the running sidecar where it is given no file; with none there it says how to do without', async () => {
		const { exitCode, stderr } = await typegen();
		expect([exitCode, stderr]).toEqual([
			3,
			expect.stringContaining('A services file needs no sidecar: --services FILE'),
		]);
		await using _sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', path('services.yaml')]);
		const { stdout } = await typegen('--socket', place.path);
		const fromFile = await typegen('--services', 'services.yaml');
		expect(stdout).toBe(fromFile.stdout.replace('from services.yaml', 'from the running sidecar'));
		expect((await typegen()).stdout).toBe(stdout);
	});
});
