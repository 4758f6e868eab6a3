// A module in TypeScript, with all that it imports, from the sources: nothing has to be built before.
import { root } from './prepare.js';

/** The exports of `contents`, a module in TypeScript that imports by paths from the top of the repository. */
export async function loadSource(contents) {
	// Not above: a fresh checkout installs it first.
	const { build } = await import('esbuild');
	const { outputFiles } = await build({
		stdin: { contents, resolveDir: root, loader: 'ts' },
		bundle: true,
		write: false,
		format: 'esm',
		platform: 'node',
		conditions: ['@spock/source'],
		// Dependencies in CommonJS load Node's own modules by `require`.
		banner: {
			js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(root)});`,
		},
	});
	return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}
