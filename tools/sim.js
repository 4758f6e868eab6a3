// `pnpm sim`: the deterministic simulation of packages/simulation. It runs on the sources; nothing has to be built before.
import { join } from 'node:path';

import { ensureInstalled, root, run } from './prepare.js';

ensureInstalled();

const { build } = await import('esbuild');
const program = join(root, 'node_modules/.cache/spock-simulation/main.mjs');
await build({
	entryPoints: [join(root, 'packages/simulation/src/main.ts')],
	outfile: program,
	bundle: true,
	platform: 'node',
	format: 'esm',
	target: 'node20.19',
	external: ['esbuild'],
	logLevel: 'error',
});
run(process.execPath, [program, '--root', root, ...process.argv.slice(2)]);
