import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { defaultName } from './default-name.ts';
import { CLIENT_VERSION } from './version.ts';

const root = await mkdtemp(join(tmpdir(), 'spock-name-'));
const main = join(root, 'app', 'dist', 'main.js');
await mkdir(join(root, 'app', 'dist'), { recursive: true });
await writeFile(main, '');
afterAll(() => rm(root, { recursive: true }));

it('is the name of the package that the main module belongs to, also where it is linked from elsewhere', async () => {
	await writeFile(join(root, 'app', 'package.json'), '{"name":"@shop/payments"}');
	await writeFile(join(root, 'app', 'dist', 'package.json'), '{"type":"module"}');
	expect(defaultName(main)).toBe('@shop/payments');
	await symlink(main, join(root, 'linked.js'));
	expect(defaultName(join(root, 'linked.js'))).toBe('@shop/payments');
});

it.each(['{', '{"name":5}', '{"name":""}', JSON.stringify({ name: 'x'.repeat(215) }), '{"name":"x\\ud800"}', 'null'])(
	'is that of the library where there is no name: %j',
	async (text) => {
		await writeFile(join(root, 'app', 'package.json'), text);
		expect(defaultName(main)).toBe(CLIENT_VERSION);
	},
);

it('is that of the library where there is no main module', () => {
	expect(defaultName(join(root, 'gone.js'))).toBe(CLIENT_VERSION);
});
