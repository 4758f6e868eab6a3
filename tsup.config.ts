import { readFileSync } from 'node:fs';

import { defineConfig, type Options } from 'tsup';

/**
 * esbuild gives an entry a bare import of every chunk that it reaches, for the side effects of its evaluation, also where
 * another chunk imports that one already. These packages have no side effects (`sideEffects: false`), so such an import
 * does nothing, and the bundler of an app warns that it is ignored. The line stays, empty, for the source map.
 */
const withoutBareImports: NonNullable<Options['plugins']>[number] = {
	name: 'without-bare-imports',
	renderChunk: (code) => ({ code: code.replace(/^import "\.[^"]*\/chunk-[^"]+";$/gm, '') }),
};

/** The entries of the package in this directory: what its `exports` name, each under the name of its output. */
function exportedEntries(): Record<string, string> {
	const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, unknown> };
	const entries: Record<string, string> = {};
	for (const target of Object.values(exports)) {
		const { '@spock/source': source, default: output } = target as { '@spock/source'?: string; default?: string };
		const [, name] = /^\.\/dist\/(.+)\.js$/.exec(output ?? '') ?? [];
		if (source !== undefined && name !== undefined) entries[name] = source;
	}
	return entries;
}

/**
 * How the programs of the packages are built, for Node 20.19 and later: as ESM, and as CommonJS for Jest and
 * for TypeScript that resolves modules in the older ways. Node itself takes the ESM for `import` and for `require` (the
 * condition `module-sync` in `exports`), so that a process never has two copies of a class.
 * `entry` adds to the exported ones. Their types: tools/declarations.js.
 */
export function packageConfig({
	entry,
	format = ['esm', 'cjs'],
	esbuildPlugins = [],
}: { readonly entry?: Record<string, string> } & Pick<Options, 'format' | 'esbuildPlugins'> = {}): Options {
	return {
		entry: { ...exportedEntries(), ...entry },
		format,
		target: 'node20.19',
		platform: 'node',
		clean: true,
		silent: true,
		sourcemap: true,
		splitting: true,
		treeshake: false,
		plugins: [withoutBareImports],
		esbuildPlugins,
	};
}

export default defineConfig(() => packageConfig());
