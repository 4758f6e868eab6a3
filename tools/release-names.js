// Writes what is derived from release.json, where the owner of the project names its public addresses: the manifests of the packages, and
// where their errors and help point. With --check it changes nothing, and fails where one of them differs.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { updateFile } from './docs-section.js';
import { fail, root } from './prepare.js';

const COMMAND = 'npm run tables release';

const release = JSON.parse(readFileSync(join(root, 'release.json'), 'utf8'));
for (const name of ['repository', 'issues', 'documentation']) {
	const address = release[name];
	if (address !== null && !/^https:\/\/[^\s]*[^/\s]$/.test(address)) {
		fail(`${name} in release.json must be null or an address https://… without a slash at its end`);
	}
}

for (const folder of readdirSync(join(root, 'packages'))) {
	const file = `packages/${folder}/package.json`;
	if (!existsSync(join(root, file))) continue;
	const { repository: _repository, bugs: _bugs, homepage: _homepage, ...manifest } = readJson(file);
	if (manifest.private) continue;
	if (manifest.name !== `${release.scope}/${folder}`) fail(`${file} must be named ${release.scope}/${folder}`);
	const { name, version, description, license, ...rest } = manifest;
	const addresses = {
		...(release.documentation !== null && { homepage: release.documentation }),
		...(release.repository !== null && {
			repository: { type: 'git', url: `git+${release.repository}.git`, directory: `packages/${folder}` },
		}),
		...(release.issues !== null && { bugs: release.issues }),
	};
	const text = JSON.stringify({ name, version, description, license, ...addresses, ...rest }, undefined, 2);
	updateFile(file, `${text}\n`, COMMAND);
}

const documentation = release.documentation ?? `node_modules/${release.scope}/client/docs`;
updateFile(
	'packages/protocol/src/foundation/documentation.ts',
	`// Written by \`${COMMAND}\` from release.json.

/** Where the pages are that errors and help name: an address, or a path in the directory of an app that has the packages installed. */
export const DOCUMENTATION = '${documentation}';
`,
	COMMAND,
);

function readJson(file) {
	return JSON.parse(readFileSync(join(root, file), 'utf8'));
}
