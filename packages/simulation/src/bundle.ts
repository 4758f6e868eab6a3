import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { build } from 'esbuild';

import type { Mutant } from './mutants.ts';

/** The part of the simulation that runs seeds, with the whole product in it. */
const ENTRY = 'packages/simulation/src/seed-worker.ts';

/** Builds the simulation over the sources as they are, or with one bug planted. Gives the path of the program. */
export async function bundle(root: string, name: string, mutant?: Mutant): Promise<string> {
	const outfile = join(root, 'node_modules/.cache/spock-simulation', `${name}.mjs`);
	let isPlanted = mutant === undefined;
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
		plugins: [
			{
				name: 'plant',
				setup: ({ onLoad }) => {
					if (mutant === undefined) return;
					const target = join(root, 'packages', mutant.file);
					onLoad({ filter: /\.ts$/ }, ({ path }) => {
						if (path !== target) return undefined;
						isPlanted = true;
						return { contents: plant(readFileSync(path, 'utf8'), mutant), loader: 'ts' };
					});
				},
			},
		],
	});
	if (!isPlanted)
		throw new Error(`${mutant?.file} is not a part of the simulation: "${mutant?.name}" cannot be planted`);
	return outfile;
}

/** The text with the bug in it. Throws when what is to be replaced does not stand in it exactly once. */
export function plant(text: string, { name, file, find, replace }: Mutant): string {
	const count = text.split(find).length - 1;
	if (count !== 1) {
		throw new Error(
			`"${name}": its text stands ${count} times in packages/${file}, not once. Change the list of mutants.`,
		);
	}
	return text.replace(find, () => replace);
}
