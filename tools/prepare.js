// What `npm start` and `npm test` need first, on a machine with only Node and npm: dependencies and built packages.
// Both are skipped when nothing has changed since the last time.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { writeShippedDocs } from './shipped-docs.js';

/** The top of the repository. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const PNPM_VERSION = '10.34.9';
const PNPM_LOCAL = join(root, 'node_modules/pnpm/bin/pnpm.cjs');
const INSTALL_STAMP = join(root, 'node_modules/.spock-install');
const BUILD_STAMP = join(root, 'node_modules/.spock-build');
const NODE_MINIMUM = [20, 19];

/** Prints one line for people and goes on. */
export function say(line) {
	process.stdout.write(`${line}\n`);
}

/** Prints one line for people on stderr and ends the process. */
export function fail(line, exitCode = 1) {
	process.stderr.write(`${line}\n`);
	process.exit(exitCode);
}

/** Runs a command in the repository and ends this process with its exit code if it fails. */
export function run(command, args, options = {}) {
	const { quiet = false, ...spawnOptions } = options;
	const result = spawnSync(command, args, {
		cwd: root,
		stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
		encoding: 'utf8',
		...spawnOptions,
	});
	if (result.error !== undefined) fail(`could not run ${command}: ${result.error.message}`);
	if (result.status !== 0) {
		if (quiet) process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
		fail(`failed: ${[command, ...args].join(' ')}`, result.status ?? 1);
	}
	return result;
}

/** Runs pnpm: the one of the workspace once it is installed, otherwise by npx. */
export function pnpm(args, options = {}) {
	if (existsSync(PNPM_LOCAL)) return run(process.execPath, [PNPM_LOCAL, ...args], options);
	return run('npx', ['--yes', `pnpm@${PNPM_VERSION}`, ...args], options);
}

function digest(paths) {
	// Not of the version of Node: no dependency is compiled for one, and a build while tests run takes the packages from under them.
	const hash = createHash('sha256');
	for (const path of paths) hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0');
	return hash.digest('hex');
}

function isCurrent(stamp, value) {
	return existsSync(stamp) && readFileSync(stamp, 'utf8') === value;
}

function filesBelow(directory) {
	return readdirSync(directory, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

function packageDirectories() {
	const below = ['packages', 'test'].flatMap((place) =>
		readdirSync(join(root, place)).map((name) => join(root, place, name)),
	);
	return [...below, join(root, 'benchmarks')];
}

function isBuilt(directory) {
	const manifest = join(directory, 'package.json');
	return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).scripts?.build !== undefined;
}

/** Installs the dependencies of the lock file if they are not there. */
export function ensureInstalled() {
	const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
	if (major < NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor < NODE_MINIMUM[1])) {
		fail(`Node ${NODE_MINIMUM.join('.')} or later is needed, this is ${process.versions.node}`);
	}
	const manifests = packageDirectories().map((directory) => join(directory, 'package.json'));
	const wanted = digest([join(root, 'pnpm-lock.yaml'), join(root, 'package.json'), ...manifests.filter(existsSync)]);
	if (isCurrent(INSTALL_STAMP, wanted)) return;
	say('installing dependencies (once, half a minute and more) …');
	pnpm(['install', '--frozen-lockfile', `--reporter=${process.stdout.isTTY ? 'default' : 'append-only'}`]);
	mkdirSync(dirname(INSTALL_STAMP), { recursive: true });
	writeFileSync(INSTALL_STAMP, wanted);
}

/** Builds the packages, with their types, if a source has changed since the last build. Returns false where there was nothing to do. */
export function ensureBuilt() {
	writeShippedDocs(join(root, 'packages/client/docs'));
	const published = packageDirectories().filter(isBuilt);
	const sources = published.flatMap((directory) => [
		join(directory, 'package.json'),
		...readdirSync(directory)
			.filter((name) => /^tsup\..*\.ts$/.test(name))
			.map((name) => join(directory, name)),
		...filesBelow(join(directory, 'src')).filter((path) => !/\.i?test\.ts$/.test(path)),
	]);
	const recipe = ['tsup.config.ts', 'tsconfig.base.json', 'tools/declarations.js'].map((name) => join(root, name));
	const wanted = digest([...sources.sort(), ...recipe]);
	const outputs = published.map((directory) => join(directory, 'dist/index.js'));
	outputs.push(join(root, 'packages/sidecar/dist/lean/lean.js'));
	if (isCurrent(BUILD_STAMP, wanted) && outputs.every(existsSync)) return false;
	say('building the packages (once, half a minute) …');
	pnpm([
		'--recursive',
		'--filter',
		'./packages/*',
		'--filter',
		'./benchmarks',
		'--reporter=append-only',
		'run',
		'build',
	]);
	say('writing their types (seconds) …');
	const directories = published.filter((directory) => directory.startsWith(join(root, 'packages')));
	run(process.execPath, [join(root, 'tools/declarations.js'), ...directories]);
	writeFileSync(BUILD_STAMP, wanted);
	return true;
}

/** Makes the bundle of the sidecar that the images have, and gives the path of its command. It starts in half the time. */
export function ensureBundled() {
	const directory = join(root, 'node_modules/.cache/spock-bundle');
	rmSync(directory, { recursive: true, force: true });
	run(process.execPath, [join(root, 'tools/image/bundle.js'), directory, process.execPath]);
	return join(directory, 'sidecar/opt/spock/bin/sidecar.js');
}

/** The path of a Node of this major version; the running one, with a word, where none can be had. */
export function nodeBinary(major) {
	if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
	const { status, stdout } = spawnSync('bash', [join(root, 'tools/node-binary.sh'), major], {
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	if (status === 0) return stdout.trim();
	say(`Node ${major} cannot be had here: Node ${process.versions.node} takes its place`);
	return process.execPath;
}
