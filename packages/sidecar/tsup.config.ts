import { rawFiles } from '../../test/testkit/src/raw-files.js';
import { packageConfig } from '../../tsup.base.ts';

export default packageConfig(
	{ index: 'src/index.ts', 'cli/main': 'src/cli/main.ts' },
	{ format: ['esm'], esbuildPlugins: [rawFiles] },
);
