// `pnpm fuzz`: the decoder, the validators, a client and a sidecar beside a trivial reference, from their sources.
//   --frames N     how many frames (default 1,000,000)
//   --from SEED    where to begin; default: anywhere, and printed
//   --seed N       exactly this case, with its bytes
//   --mutations    plants each bug of tools/fuzz-mutations.js, and fails unless every one is found; with --docs the table in
//                  docs/TESTING.md is written
//   --share K/N    with --mutations: every Nth of them, from the Kth on
//   --workers N    threads (default: one for each core)
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { markdownTable, showDocsTable } from './docs-section.js';
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
				const source = await readFile(path, 'utf8');
				if (source.split(from).length !== 2) throw new Error(`${file} must hold exactly once: ${from}`);
				planted = true;
				return { contents: source.replace(from, () => to), loader: 'ts' };
			});
			onEnd(() => {
				if (!planted) throw new Error(`${file} is not part of what is fuzzed`);
			});
		},
	};
}

const places = ['--vectors', join(root, 'packages/protocol/vectors'), '--corpus', join(fuzz, 'corpus')];

function start(main, more) {
	return spawnSync(process.execPath, ['--enable-source-maps', main, ...places, ...more], { stdio: 'inherit' });
}

const outdir = join(root, 'node_modules/.cache/spock-fuzz');
if (!args.includes('--mutations')) {
	const main = await bundle(join(outdir, 'plain'), undefined);
	const workers = args.includes('--workers') ? [] : ['--workers', String(availableParallelism())];
	process.exit(start(main, [...workers, ...args]).status ?? 1);
}

const FRAMES_MAX = 100_000;

/** Fuzzes with one thing wrong, or nothing: cases that are made only, because kept ones were kept for such bugs. */
async function search(mutation, index) {
	const main = await bundle(join(outdir, `mutated-${index}`), mutation);
	const options = ['--frames', String(FRAMES_MAX), '--from', '1', '--workers', '1'];
	const child = spawn(
		process.execPath,
		[main, ...places, ...options, '--no-kept', '--no-keep', '--no-shrink', '--quiet'],
		{
			stdio: ['ignore', 'pipe', 'inherit'],
		},
	);
	const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
	const [, check = ''] = /^FAILED: (.*) \(.*\)$/m.exec(stdout) ?? [];
	const [, frames = '?'] = /^fuzz: (\d+) frames of/m.exec(stdout) ?? [];
	// A process that dies is no find: it says nothing about what is wrong.
	return { mutation, check, frames, isFound: status === 1 && check !== '' };
}

const [, turn = 0, of = 1] = /^(\d+)\/([1-9]\d*)$/.exec(args[args.indexOf('--share') + 1] ?? '') ?? [];
const chosen = mutations.filter((_, index) => (index + Number(turn)) % Number(of) === 0);
// The first has no bug: what is found in it would be found in every other one.
const waiting = [undefined, ...chosen].map((mutation, index) => () => search(mutation, index));
const results = [];
async function takeTurns() {
	for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
		const result = await next();
		results.push(result);
		const { mutation, check, frames, isFound } = result;
		say(`${isFound ? 'found' : 'not found'}: ${mutation?.name ?? 'nothing planted'}, ${check}, ${frames} frames`);
	}
}
await Promise.all(Array.from({ length: availableParallelism() }, takeTurns));

const control = results.find(({ mutation }) => mutation === undefined);
const planted = chosen.map((mutation) => results.find((result) => result.mutation === mutation));
const found = planted.filter(({ isFound }) => isFound);
const rows = planted.map(({ mutation, check, frames, isFound }) =>
	isFound ? [mutation.name, check, Number(frames).toLocaleString('en-US')] : [mutation.name, 'not found', '-'],
);
showDocsTable('fuzz-mutations', markdownTable(['planted', 'found by', 'within frames'], rows), args.includes('--docs'));
say(`fuzz: ${found.length} of ${chosen.length} planted bugs found`);
if (control.isFound) say('fuzz: a difference was found with nothing planted: see `pnpm fuzz --from 1`');
process.exit(found.length === chosen.length && !control.isFound ? 0 : 1);
