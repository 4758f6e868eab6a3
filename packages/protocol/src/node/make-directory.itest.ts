import { mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { makeDirectory } from './make-directory.ts';

let root = '';
beforeEach(async () => {
	root = await mkdtemp(join(tmpdir(), 'directories-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

it('makes all that are missing, for this user alone, and leaves those that are there', async () => {
	const path = join(root, 'a', 'b', 'c');
	await makeDirectory(path);
	await makeDirectory(path);
	for (const each of [path, join(root, 'a')]) expect((await stat(each)).mode & 0o777).toBe(0o700);
});

it('rejects below a link that leads nowhere, and below a file', async () => {
	await symlink(join(root, 'nowhere'), join(root, 'link'));
	await expect(makeDirectory(join(root, 'link', 'a'))).rejects.toMatchObject({ code: 'ENOENT' });
	await expect(makeDirectory(join(root, 'link', 'a', 'b'))).rejects.toMatchObject({ code: 'ENOENT' });
	await writeFile(join(root, 'file'), '');
	await expect(makeDirectory(join(root, 'file', 'a'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});
