import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, it } from 'vitest';

import { bundleWorker, type Mutation } from './worker-process.ts';

/** Bundles a program of two files with these mistakes in it; gives its text. */
async function bundle(planted: readonly Mutation[]): Promise<string> {
	const directory = await mkdtemp(join(tmpdir(), 'spock-planted-'));
	try {
		await writeFile(
			join(directory, 'cup.ts'),
			"export const cup: string = 'full';\nexport const saucer: string = 'there';\n",
		);
		await writeFile(join(directory, 'main.ts'), "import { cup, saucer } from './cup.ts';\nconsole.log(cup, saucer);\n");
		return await readFile(
			await bundleWorker(pathToFileURL(join(directory, 'main.ts')), directory, { planted }),
			'utf8',
		);
	} finally {
		await rm(directory, { recursive: true });
	}
}

it('a mistake is planted in the bundle, and others in the same file with it', async () => {
	const text = await bundle([
		{ file: 'cup.ts', find: "'full'", replace: "'empty'" },
		{ file: 'cup.ts', find: "'there'", replace: "'gone'" },
	]);
	expect(text).toContain('"empty"');
	expect(text).toContain('"gone"');
});

it.each([
	['whose file is no part of the program', { file: 'src/jug.ts', find: 'x', replace: '' }, /src\/jug\.ts/],
	['whose text is not there', { file: 'cup.ts', find: "'half full'", replace: '' }, /cup\.ts.*'half full'.*0 times/s],
	['whose text is there twice', { file: 'cup.ts', find: 'export', replace: '' }, /cup\.ts.*export.*2 times/s],
])('a mistake %s is an error that names it, and no bundle without it', async (_which, mutation, message) => {
	await expect(bundle([mutation])).rejects.toThrow(message);
});
