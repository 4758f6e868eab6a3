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

/**
 * How every package of the workspace is built, with its types, for Node 20.19 and later: as ESM, and as CommonJS for Jest and
 * for TypeScript that resolves modules in the older ways. Node itself takes the ESM for `import` and for `require` (the
 * condition `module-sync` in `exports`), so that a process never has two copies of a class.
 */
export function packageConfig(
	entry: Record<string, string> = { index: 'src/index.ts' },
	{ format = ['esm', 'cjs'], esbuildPlugins = [] }: Pick<Options, 'format' | 'esbuildPlugins'> = {},
): ReturnType<typeof defineConfig> {
	return defineConfig({
		entry,
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
		// TypeScript 6 deprecates the baseUrl that tsup's declaration build sets by itself.
		dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
	} satisfies Options);
}
