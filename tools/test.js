// `npm test`: the tests that need nothing but Node, and those whose program is on this machine. `npm test -- --servers` runs those
// against real servers and with other people's clients, `--all` both. What is left out is said in plain words, and with CI set
// that is a failure. Arguments go to vitest: npm test -- packages/client
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

import { ensureBuilt, ensureBundled, ensureInstalled, fail, root, run, say } from './prepare.js';
import { takeOptions } from './run-suite.js';

const CONSUL_VERSION = '1.20.2';
const NATS_VERSION = '2.15.2';

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

/** As the tests find them: a server with fast ingest, and an old one. */
function hasNats() {
	const cache = process.env.SPOCK_CACHE_DIR || join(homedir(), '.cache/spock');
	const current = process.env.NATS_BIN || join(cache, `nats-server-${NATS_VERSION}`, 'nats-server');
	return (
		isExecutable(current) &&
		(process.env.NATS_OLD_BIN ? isExecutable(process.env.NATS_OLD_BIN) : isOnPath('nats-server'))
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

function isOnPath(name) {
	return (process.env.PATH ?? '').split(delimiter).some((place) => place !== '' && isExecutable(join(place, name)));
}

/** As the tests find it: POSTGRES_BIN, else PATH, else where Debian has it. */
function hasPostgres() {
	const places = [process.env.POSTGRES_BIN ?? '', ...(process.env.PATH ?? '').split(delimiter), ...debianPostgres()];
	return places.some((place) => place !== '' && isExecutable(join(place, 'pg_basebackup')));
}

function debianPostgres() {
	const home = '/usr/lib/postgresql';
	return existsSync(home) ? readdirSync(home).map((version) => join(home, version, 'bin')) : [];
}

/** Whatever Go has to download and compile, before the tests and not in the time of one. */
function prepareGo() {
	say('compiling the clients in Go (the first time some minutes: their modules are downloaded) …');
	for (const name of ['go-client', 'grpc-go-client']) {
		const binary = join(root, 'node_modules/.cache/spock-go', name);
		run('go', ['build', '-v', '-o', binary, '.'], { cwd: join(root, 'examples', name) });
	}
	run('bash', [join(root, 'tools/grpc-tools.sh')]);
}

const { values, rest } = takeOptions(process.argv.slice(2), { flags: ['servers', 'all'] });
const withOwn = !values.servers || values.all;
const withServers = values.servers || values.all;

ensureInstalled();
ensureBuilt();

const consul = findConsul();
const projects = [];
const leftOut = [];
if (withOwn) {
	projects.push('unit', 'socket');
	if (isOnPath('socat') && isOnPath('nc')) projects.push('shell');
	else
		leftOut.push('the test of the shell example, because it needs `socat` and `nc` (Debian: socat, netcat-openbsd).');
	// Its terminal is `script --command` of util-linux, which other systems do not have.
	if (process.platform === 'linux' && isOnPath('zsh') && isOnPath('fish')) projects.push('shells');
	else
		leftOut.push(
			'the test of completion in shells, because it needs Linux, `zsh` and `fish` (Debian: the same names).',
		);
	if (isOnPath('promtool')) projects.push('promtool');
	else leftOut.push("promtool's checks of metrics and alerts, because there is no `promtool` (Debian: prometheus).");
}
if (withServers) {
	if (consul !== undefined) projects.push('consul');
	else {
		leftOut.push(
			'the suite against a real Consul server, because none was found. To run it, put `consul` on PATH, name it with ' +
				'CONSUL_BIN, or build one with Go 1.26 and `bash tools/consul/build.sh` (about 5 minutes, once).',
		);
	}
	if (isOnPath('go')) projects.push('go');
	else leftOut.push("the tests with Go's clients, because `go` is not on PATH.");
	if (hasPostgres() && isOnPath('redis-server')) projects.push('databases');
	else
		leftOut.push(
			'the tests on real PostgreSQL and Redis servers, because one is missing (Debian: postgresql, redis-server).',
		);
	if (hasNats()) projects.push('nats');
	else
		leftOut.push(
			'the tests on real NATS servers, because one is missing. To run them, build the one with Go 1.26 and ' +
				'`bash tools/nats/build.sh` (a minute, once), and install an old one (Debian 12: nats-server).',
		);
}

const leftOutText = leftOut.map((sentence) => `LEFT OUT: ${sentence}`).join('\n');
if (leftOut.length > 0 && process.env.CI) fail(`${leftOutText}\nWith CI set this is a failure.`);
if (projects.length === 0) fail(`${leftOutText}\nThat is all there is.`);
if (projects.includes('go')) prepareGo();

const reports = join(root, 'reports');
mkdirSync(reports, { recursive: true });
const variables = {
	SPOCK_SIDECAR_BIN: process.env.SPOCK_SIDECAR_BIN || ensureBundled(),
	...(consul !== undefined && { CONSUL_BIN: consul }),
};
say(`running the suites ${projects.join(', ')} …`);
const result = spawnSync(
	process.execPath,
	[
		join(root, 'node_modules/vitest/vitest.mjs'),
		'run',
		...projects.flatMap((project) => ['--project', project]),
		'--reporter=default',
		'--reporter=json',
		`--outputFile.json=${process.env.SPOCK_TEST_REPORT || join(reports, 'test.json')}`,
		...rest,
	],
	{ cwd: root, stdio: 'inherit', env: { ...process.env, ...variables } },
);
if (leftOut.length > 0) say(leftOutText);
if (!withServers) {
	say(
		'NOT PART OF THIS: real Consul, PostgreSQL, Redis and NATS servers and clients in Go (`npm test -- --servers`), and the longer suites of docs/TESTING.md.',
	);
}
process.exit(result.status ?? 1);
