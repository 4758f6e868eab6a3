import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { NodeFiles } from './node-files.ts';

let directory = '';
beforeEach(async () => {
	directory = await mkdtemp(join(tmpdir(), 'files-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** From linux/fcntl.h, in octal as the kernel shows it. */
const O_DSYNC = 0o10000;

/** The flags by which this process has a file open. */
async function flagsOf(path: string): Promise<number> {
	for (const descriptor of await readdir('/proc/self/fd')) {
		const target = await readlink(`/proc/self/fd/${descriptor}`).catch(() => '');
		if (target !== path) continue;
		const info = await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8');
		return Number.parseInt(/^flags:\s+(\d+)$/m.exec(info)?.[1] ?? '', 8);
	}
	throw new Error(`${path} is not open`);
}

describe('a file of the log', () => {
	it.runIf(process.platform === 'linux')('is on the disk when its write resolves: nothing syncs it again', async () => {
		const path = join(directory, 'a');
		const file = await new NodeFiles().create(path);
		expect((await flagsOf(path)) & O_DSYNC).toBe(O_DSYNC);
		await file.close();
	});

	it('is not made where there is one, and holds what was written where it was written', async () => {
		const files = new NodeFiles();
		const path = join(directory, 'a');
		const file = await files.create(path);
		await file.write([Buffer.from('cd'), Buffer.alloc(0), Buffer.from('ef')], 2);
		await file.write([Buffer.from('ab')], 0);
		await file.sync();
		await file.close();
		await expect(files.create(path)).rejects.toMatchObject({ code: 'EEXIST' });
		const again = await files.open(path);
		expect(Buffer.from(await again.read(0, 10)).toString()).toBe('abcdef');
		await again.close();
	});
});
