import { symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { lstatOf, statOf } from './index.ts';

describe.each([
	['statOf', statOf],
	['lstatOf', lstatOf],
])('%s', (_name, look) => {
	it('of a socket leaves a module behind a symbolic link where it is: Node finds it there', async () => {
		const directory = await realpath(await mkdtemp(join(tmpdir(), 'spock-stat-')));
		const server = createServer().listen(join(directory, 'socket'));
		try {
			const modules = join(directory, 'node_modules');
			for (const name of [modules, join(directory, 'store')]) await mkdir(name);
			for (const file of ['first.js', 'store/index.js']) writeFileSync(join(directory, file), '');
			symlinkSync(join(directory, 'store'), join(modules, 'linked'));
			const { resolve } = createRequire(join(directory, 'app.js'));
			// From now on the parts of the path are in the cache of Node's loader.
			resolve('./first.js');
			expect(look(join(directory, 'socket'))?.isSocket()).toBe(true);
			expect(resolve('linked')).toBe(join(directory, 'store/index.js'));
		} finally {
			server.close();
			await rm(directory, { recursive: true });
		}
	});

	it('of nothing is undefined', () => {
		expect(look('/nothing/at/all')).toBeUndefined();
	});
});
