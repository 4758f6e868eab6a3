import { defineConfig } from 'tsup';

import { rawFiles } from '../../test/testkit/src/raw-files.js';
import { packageConfig } from '../../tsup.config.ts';

export default defineConfig(() =>
	packageConfig({ entry: { 'cli/main': 'src/cli/main.ts' }, format: ['esm'], esbuildPlugins: [rawFiles] }),
);
