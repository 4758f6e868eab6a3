import { defineConfig, type Options } from 'tsup';

/**
 * The commands that probes run, each second in a pod: one file with all that they need and nothing else, because finding and
 * compiling modules is most of what such a command costs. Built behind the package itself, whose build clears `dist`.
 */
const lean: Options = {
	entry: { lean: 'src/cli/lean.ts' },
	outDir: 'dist/lean',
	format: ['esm'],
	target: 'node20.19',
	platform: 'node',
	noExternal: [/^@spock\//],
	splitting: false,
	treeshake: false,
	minifySyntax: true,
	sourcemap: true,
	clean: false,
	silent: true,
};

export default defineConfig(lean);
