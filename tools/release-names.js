// Writes what is derived from release.json into the manifests of the packages, and where their errors and help point. With --check it changes
// nothing, and fails where one of them differs.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { updateFile } from './docs-section.js';
import { fail, root } from './prepare.js';
import { checkRelease, documentationAt, withAddresses } from './release.js';

const COMMAND = 'npm run tables release';

function readJson(file) {
	return JSON.parse(readFileSync(join(root, file), 'utf8'));
}

const release = readJson('release.json');
try {
	checkRelease(release);
} catch (error) {
	fail(error.message);
}
for (const folder of readdirSync(join(root, 'packages'))) {
	const file = `packages/${folder}/package.json`;
	if (!existsSync(join(root, file)) || readJson(file).private) continue;
	const manifest = readJson(file);
	if (manifest.name !== `${release.scope}/${folder}`) fail(`${file} must be named ${release.scope}/${folder}`);
	updateFile(file, `${JSON.stringify(withAddresses(manifest, folder, release), undefined, 2)}\n`, COMMAND);
}
updateFile(
	'packages/protocol/src/foundation/documentation.ts',
	`// Written by \`${COMMAND}\` from release.json.

/** Where the pages are that errors and help name: an address, or a path in the directory of an app that has the packages installed. */
export const DOCUMENTATION = '${documentationAt(release)}';
`,
	COMMAND,
);
