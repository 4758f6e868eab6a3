import { packageConfig } from '../../tsup.base.ts';
import { rawFiles } from '../testkit/src/raw-files.js';

export default packageConfig(
	{ index: 'src/index.ts', 'cli/main': 'src/cli/main.ts' },
	{ format: ['esm'], esbuildPlugins: [rawFiles] },
);
