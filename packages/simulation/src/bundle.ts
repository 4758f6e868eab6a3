import { join } from 'node:path';

import { build } from 'esbuild';

/** The part of the simulation that runs seeds, with the whole product in it. */
const ENTRY = 'packages/simulation/src/seed-worker.ts';

/** Builds the simulation over the sources. Gives the path of the program. */
export async function bundle(root: string, name: string): Promise<string> {
	const outfile = join(root, 'node_modules/.cache/spock-simulation', `${name}.mjs`);
	await build({
		entryPoints: [join(root, ENTRY)],
		outfile,
		bundle: true,
		platform: 'node',
		format: 'esm',
		target: 'node20.19',
		conditions: ['@spock/source'],
		sourcemap: 'inline',
		logLevel: 'error',
		// What is bundled of CommonJS packages asks for Node's own modules by this.
		banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
	});
	return outfile;
}
