// Writes every setting, from the code, into docs/reference/settings.md. With --check it changes nothing and fails when the page is
// not what the code says.
import { join } from 'node:path';

import { build } from 'esbuild';

import { checkDocsSection, replaceInDocs } from './docs-section.js';
import { root } from './prepare.js';

const bundled = await build({
	entryPoints: [join(root, 'tools/settings/settings-section.ts')],
	bundle: true,
	write: false,
	format: 'esm',
	platform: 'node',
	conditions: ['@spock/source'],
	// Dependencies that are no modules ask for Node's own by `require`.
	banner: {
		js: `import { createRequire } from 'node:module'; const require = createRequire(${JSON.stringify(root)});`,
	},
});
const { settingsSection } = await import(
	`data:text/javascript;base64,${Buffer.from(bundled.outputFiles[0].contents).toString('base64')}`
);
const page = join(root, 'docs/reference/settings.md');
if (process.argv.includes('--check')) {
	checkDocsSection('settings', settingsSection(root), page, 'npm run tables settings');
} else {
	replaceInDocs('settings', settingsSection(root), page);
}
