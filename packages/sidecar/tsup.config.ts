import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Options } from 'tsup';

import { packageConfig } from '../../tsup.base.ts';

/** `import text from './file?raw'`: the file as it is, as Vite has it in tests. */
const rawFiles: NonNullable<Options['esbuildPlugins']>[number] = {
	name: 'raw-files',
	setup(build) {
		build.onResolve({ filter: /\?raw$/ }, ({ path, resolveDir }) => ({
			// With its end, so that nobody else takes it for what its name says.
			path: join(resolveDir, path),
			namespace: 'raw',
		}));
		build.onLoad({ filter: /./, namespace: 'raw' }, async ({ path }) => ({
			contents: await readFile(path.slice(0, -'?raw'.length), 'utf8'),
			loader: 'text',
		}));
	},
};

export default packageConfig({ index: 'src/index.ts', 'cli/main': 'src/cli/main.ts' }, [rawFiles]);
