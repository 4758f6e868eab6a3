import { defineConfig, mergeConfig } from 'vitest/config';

import base from '../vitest.config.ts';
import { root } from './prepare.js';

// The tests as ever, over sources of which one is not as it stands in its file: see tools/mutants.js.
const { file, find, replace } = JSON.parse(process.env.SPOCK_MUTANT ?? '{}');

export default mergeConfig(
	base,
	defineConfig({
		root,
		plugins: [
			{
				name: 'mutant',
				enforce: 'pre',
				transform: (code, id) => (id === file ? code.replace(find, () => replace) : undefined),
			},
		],
	}),
);
