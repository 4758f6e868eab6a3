// `npm run suite simulation`: the deterministic simulation of test/simulation. It runs on the sources; nothing has to be built before.
import { join } from 'node:path';

import { sourceBundle } from '../test/testkit/src/source-bundle.js';
import { ensureInstalled, root, run } from './prepare.js';

ensureInstalled();

const { build } = await import('esbuild');
const program = join(root, 'node_modules/.cache/spock-simulation/main.mjs');
await build({
	entryPoints: [join(root, 'test/simulation/src/main.ts')],
	outfile: program,
	...sourceBundle,
	external: ['esbuild'],
});
run(process.execPath, [program, '--root', root, ...process.argv.slice(2)]);
