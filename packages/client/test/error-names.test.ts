import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

import { build } from 'esbuild';
import { expect, it } from 'vitest';

/** A package as its build or an app bundles it. */
async function bundled(name: string, minify: boolean): Promise<Record<string, unknown>> {
	const { outputFiles } = await build({
		entryPoints: [fileURLToPath(new URL(`../../${name}/src/index.ts`, import.meta.url))],
		conditions: ['@spock/source'],
		bundle: true,
		minify,
		platform: 'node',
		format: 'esm',
		target: 'node20.19',
		write: false,
		packages: 'bundle',
	});
	const directory = await mkdtemp('/tmp/spock-bundle-');
	try {
		const path = join(directory, 'bundle.mjs');
		await writeFile(path, outputFiles[0]?.contents ?? '');
		return (await import(/* @vite-ignore */ pathToFileURL(path).href)) as Record<string, unknown>;
	} finally {
		await rm(directory, { recursive: true });
	}
}

const isErrorClass = (value: unknown): value is new (...given: never[]) => Error =>
	typeof value === 'function' && value.prototype instanceof Error;

it.each([
	['protocol', false],
	['protocol', true],
	['client', false],
	['client', true],
	['discovery', false],
] as const)('errors of %s have their own name in a bundle (minified: %s)', async (name, minify) => {
	const classes = Object.entries(await bundled(name, minify)).filter(([, value]) => isErrorClass(value));
	expect(classes.length).toBeGreaterThan(0);
	for (const [exported, ErrorClass] of classes) {
		if (!isErrorClass(ErrorClass)) continue;
		const error = new ErrorClass(...(['CLOSED', 'why', 1, 'because'] as never[]));
		expect(error.constructor.name).toBe(exported);
		expect(error.name).toBe(exported);
		expect(error.stack).toMatch(new RegExp(`^${exported}: `));
		expect(inspect(error)).toMatch(new RegExp(`^${exported}: `));
	}
});
