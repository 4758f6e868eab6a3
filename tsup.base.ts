import { defineConfig, type Options } from 'tsup';

/** How every package of the workspace is built: ESM for Node 20.19 and later, with its types. */
export function packageConfig(
	entry: Record<string, string> = { index: 'src/index.ts' },
): ReturnType<typeof defineConfig> {
	return defineConfig({
		entry,
		format: ['esm'],
		target: 'node20.19',
		platform: 'node',
		clean: true,
		sourcemap: true,
		splitting: true,
		treeshake: false,
		// TypeScript 6 deprecates the baseUrl that tsup's declaration build sets by itself.
		dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
	} satisfies Options);
}
