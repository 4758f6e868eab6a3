// `pnpm fuzz`: the decoder, the validators, a client and a sidecar beside a trivial reference, from their sources.
//   --frames N     how many frames (default 1,000,000)
//   --from SEED    where to begin; default: anywhere, and printed
//   --seed N       exactly this case, with its bytes
//   --mutations    plants each bug of packages/fuzz/src/mutations.js, and fails unless every one is found
//   --workers N    threads (default: one for each core)
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { ensureInstalled, root, say } from './prepare.js';

ensureInstalled();
const { build } = await import('esbuild');
const { mutations } = await import('./fuzz-mutations.js');

const fuzz = join(root, 'packages/fuzz');
const args = process.argv.slice(2);

/** Bundles from the sources, whatever is built; with a mutation, from sources in which one thing is wrong. */
async function bundle(outdir, mutation) {
	rmSync(outdir, { recursive: true, force: true });
	mkdirSync(outdir, { recursive: true });
	await build({
		entryPoints: { main: join(fuzz, 'src/main.ts'), worker: join(fuzz, 'src/worker.ts') },
		outdir,
		outExtension: { '.js': '.mjs' },
		bundle: true,
		splitting: true,
		format: 'esm',
		platform: 'node',
		target: 'node20.19',
		conditions: ['@spock/source'],
		logLevel: 'error',
		// What third parties made in CommonJS asks for Node's modules by `require`.
		banner: {
			js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
		},
		plugins: mutation === undefined ? [] : [plant(mutation)],
	});
	return join(outdir, 'main.mjs');
}

/** An esbuild plugin that changes a source as it is loaded; the file itself stays as it is. */
function plant({ file, from, to }) {
	return {
		name: 'mutation',
		setup({ onLoad, onEnd }) {
			let planted = false;
			onLoad({ filter: /\.ts$/ }, async ({ path }) => {
				if (path !== join(root, file)) return undefined;
				const { readFile } = await import('node:fs/promises');
				const text = await readFile(path, 'utf8');
				if (text.split(from).length !== 2) throw new Error(`${file} must hold exactly once: ${from}`);
				planted = true;
				return { contents: text.replace(from, () => to), loader: 'ts' };
			});
			onEnd(() => {
				if (!planted) throw new Error(`${file} is not part of what is fuzzed`);
			});
		},
	};
}

function start(main, more, options = {}) {
	const places = ['--vectors', join(root, 'packages/protocol/vectors'), '--corpus', join(fuzz, 'corpus')];
	return spawnSync(process.execPath, ['--enable-source-maps', main, ...places, ...more], {
		stdio: 'inherit',
		...options,
	});
}

const outdir = join(root, 'node_modules/.cache/spock-fuzz');
if (!args.includes('--mutations')) {
	const main = await bundle(join(outdir, 'plain'), undefined);
	const workers = args.includes('--workers') ? [] : ['--workers', String(availableParallelism())];
	process.exit(start(main, [...workers, ...args]).status ?? 1);
}

let missed = 0;
for (const mutation of mutations) {
	const main = await bundle(join(outdir, 'mutated'), mutation);
	const options = ['--frames', '300000', '--from', '1', '--workers', '1', '--no-keep', '--quiet'];
	const { status, stdout } = start(main, options, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });
	const [, check = '', origin = ''] = /^FAILED: (.*) \((.*)\)$/m.exec(stdout) ?? [];
	const [, frames = '?'] = /^fuzz: (\d+) frames of/m.exec(stdout) ?? [];
	const isFound = status === 1 && check !== '';
	if (!isFound) missed++;
	say(`${isFound ? 'found ' : 'MISSED'} | ${mutation.name} | ${check} | ${frames} frames | ${origin}`);
}
say(`fuzz: ${mutations.length - missed} of ${mutations.length} planted bugs found`);
process.exit(missed === 0 ? 0 : 1);
