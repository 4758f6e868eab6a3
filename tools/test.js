// `npm test`: every test. The suite against a real Consul needs one; without it that suite is left out, in plain words,
// and with CI set that is a failure. Arguments go to vitest: npm test -- packages/client
import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

import { ensureBuilt, ensureInstalled, fail, root, say } from './prepare.js';

const CONSUL_VERSION = '1.20.2';

/** CONSUL_BIN, else `consul` on PATH, else the build of tools/consul/build.sh. Undefined when there is none. */
function findConsul() {
	const named = process.env.CONSUL_BIN;
	if (named) {
		if (!isExecutable(named)) fail(`CONSUL_BIN is no executable file: ${named}`, 2);
		return named;
	}
	const cache = process.env.SPOCK_CACHE_DIR || join(homedir(), '.cache/spock');
	const places = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
	return [...places.map((place) => join(place, 'consul')), join(cache, `consul-${CONSUL_VERSION}`, 'consul')].find(
		isExecutable,
	);
}

function isExecutable(path) {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

ensureInstalled();
ensureBuilt();

const consul = findConsul();
const projects = ['unit', 'socket'];
const leftOut =
	'LEFT OUT: the suite against a real Consul server, because none was found. To run it, put `consul` on PATH, name it ' +
	'with CONSUL_BIN, or build one with Go 1.26 and `npm run consul:build` (about 5 minutes, once).';
if (consul !== undefined) projects.push('consul');
else if (process.env.CI) fail(`${leftOut}\nWith CI set this is a failure.`);

const reports = join(root, 'reports');
mkdirSync(reports, { recursive: true });
const result = spawnSync(
	process.execPath,
	[
		join(root, 'node_modules/vitest/vitest.mjs'),
		'run',
		...projects.flatMap((project) => ['--project', project]),
		'--reporter=default',
		'--reporter=json',
		`--outputFile.json=${process.env.SPOCK_TEST_REPORT || join(reports, 'test.json')}`,
		...process.argv.slice(2),
	],
	{ cwd: root, stdio: 'inherit', env: { ...process.env, ...(consul === undefined ? {} : { CONSUL_BIN: consul }) } },
);
if (consul === undefined) say(leftOut);
process.exit(result.status ?? 1);
