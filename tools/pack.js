// `npm run pack`: packs every public package as it would be published into one folder, each looked at by publint and are-the-types-wrong, and
// prints how an app installs them. `npm run pack -- client undici` packs those and what they need. `--out FOLDER` instead of reports/packages.
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { packPackages, publicPackages } from './pack-packages.js';
import { ensureBuilt, ensureInstalled, fail, root, say } from './prepare.js';
import { takeOptions } from './run-suite.js';

const { values, rest: names } = takeOptions(process.argv.slice(2), { texts: ['out'], flags: ['unchecked'] });
const packages = publicPackages();
const unknown = names.find((name) => !packages.has(name));
if (unknown !== undefined)
	fail(`unknown package "${unknown}"; expected some of: ${[...packages.keys()].join(', ')}`, 2);

ensureInstalled();
ensureBuilt();
const folder = resolve(values.out ?? join(root, 'reports/packages'));
packPackages(folder, { names, isChecked: !values.unchecked });

const files = readdirSync(folder);
const next = files.some((file) => file.startsWith('spock-sidecar-')) ? ['npx @spock/sidecar start --help'] : [];
const all =
	'That installs what Fastify, NestJS, gRPC, PostgreSQL and Redis need as well; less: npm run pack -- client undici';
say(
	[
		'',
		`${files.length} packages are in ${folder}. In the folder of your app:`,
		'',
		...[`npm install ${quoted(folder)}/*.tgz`, ...next].map((line) => `  ${line}`),
		...(names.length > 0 ? [] : ['', all]),
	].join('\n'),
);

function quoted(path) {
	return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
