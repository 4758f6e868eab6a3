import { join } from 'node:path';

import { requireBanner, sourceBundle } from '@spock/testkit/source-bundle';
import { build } from 'esbuild';

/** The part of the simulation that runs seeds, with the whole product in it. */
const ENTRY = 'test/simulation/src/seed-worker.ts';

/** Builds a program of the simulation over the sources. Gives its path. */
export async function bundle(root: string, name: string, entry: string = ENTRY): Promise<string> {
	const outfile = join(root, 'node_modules/.cache/spock-simulation', `${name}.mjs`);
	await build({
		...sourceBundle,
		entryPoints: [join(root, entry)],
		outfile,
		sourcemap: 'inline',
		banner: requireBanner,
	});
	return outfile;
}
