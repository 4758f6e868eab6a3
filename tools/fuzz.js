// `npm run suite fuzz`: the decoder, the validators, a client and a sidecar beside a trivial reference, from their sources.
//   --frames N     how many frames (default 1,000,000)
//   --from SEED    where to begin; default: anywhere, and printed
//   --seed N       exactly this case, with its bytes
//   --workers N    threads (default: one for each core)
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { requireBanner, sourceBundle } from '../test/testkit/src/source-bundle.js';
import { ensureInstalled, root } from './prepare.js';

ensureInstalled();
const { build } = await import('esbuild');

const fuzz = join(root, 'test/hostile');
const args = process.argv.slice(2);

/** Bundles from the sources, whatever is built. */
async function bundle(outdir) {
	rmSync(outdir, { recursive: true, force: true });
	mkdirSync(outdir, { recursive: true });
	await build({
		...sourceBundle,
		entryPoints: { main: join(fuzz, 'src/main.ts'), worker: join(fuzz, 'src/worker.ts') },
		outdir,
		outExtension: { '.js': '.mjs' },
		splitting: true,
		banner: requireBanner,
	});
	return join(outdir, 'main.mjs');
}

const main = await bundle(join(root, 'node_modules/.cache/spock-fuzz'));
const places = ['--vectors', join(root, 'packages/protocol/vectors'), '--corpus', join(fuzz, 'corpus')];
const workers = args.includes('--workers') ? [] : ['--workers', String(availableParallelism())];
const { status } = spawnSync(process.execPath, ['--enable-source-maps', main, ...places, ...workers, ...args], {
	stdio: 'inherit',
});
process.exit(status ?? 1);
