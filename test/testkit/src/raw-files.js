// `import text from './file?raw'`, the file as it is, as Vite has it in tests: for everything that bundles the sidecar with esbuild.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export const rawFiles = {
	name: 'raw-files',
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({
			// With its end, so that nobody else takes it for what its name says.
			path: join(resolveDir, path),
			namespace: 'raw',
		}));
		onLoad({ filter: /./, namespace: 'raw' }, async ({ path }) => ({
			contents: await readFile(path.slice(0, -'?raw'.length), 'utf8'),
			loader: 'text',
		}));
	},
};
