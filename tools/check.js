// `npm run check`: what needs no test to be run, one after the other. `npm run check NAME…` runs only those named.
import { spawnSync } from 'node:child_process';

import { ensureInstalled, fail, root, run, say } from './prepare.js';

function pages() {
	// Those are put into pages.
	const parts = [':!docs/performance/what-limits-us.md', ':!docs/performance/events-limits.md'];
	const listed = spawnSync('git', ['ls-files', '*.md', ...parts], {
		cwd: root,
		encoding: 'utf8',
	});
	return listed.stdout.split('\n').filter(Boolean);
}

/** Checks what has changed since the last time, and what it may have broken. */
function typesOf(project) {
	const known = `node_modules/.cache/spock-types/${project.replaceAll('/', '-')}.tsbuildinfo`;
	return ['node_modules/typescript/bin/tsc', '-p', project, '--incremental', '--tsBuildInfoFile', known];
}

const CHECKS = {
	types: ['tsconfig.json', 'tsconfig.config.json', 'examples/fastify'].map(typesOf),
	/** Packs each package and tries it as a consumer would. */
	packages: [['tools/check-packages.js']],
	/** Unused files, exports and dependencies. */
	unused: [['node_modules/knip/bin/knip.js']],
	/** What documentation takes from code. */
	tables: [['tools/tables.js', '--check']],
	/** Links between pages, and to their headings. A part of a page that is put into another one is read there. */
	links: [
		[
			'node_modules/remark-cli/cli.js',
			'--quiet',
			'--frail',
			'--no-stdout',
			'--use',
			'remark-validate-links=repository:false',
			'--',
			...pages(),
		],
	],
	lint: [['node_modules/@biomejs/biome/bin/biome', 'check', '.']],
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(CHECKS, name));
if (unknown !== undefined) fail(`unknown check "${unknown}"; expected some of: ${Object.keys(CHECKS).join(', ')}`, 2);
ensureInstalled();
for (const name of names.length > 0 ? names : Object.keys(CHECKS)) {
	say(`--- ${name}`);
	for (const args of CHECKS[name]) run(process.execPath, args, { cwd: root });
}
