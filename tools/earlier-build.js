// The programs of an earlier commit of this repository: its sidecar as one bundle, and its client. They are kept in the cache by commit.
import { spawnSync } from 'node:child_process';
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	realpathSync,
	renameSync,
	rmSync,
	symlinkSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

import { fail, pnpm, root, run, say } from './prepare.js';

/** Counts changes of what is built: what an older version of this file has made is not used. */
const RECIPE = 2;
/** What is bundled, by the name of its output. */
const ENTRIES = {
	'dist/cli/main': 'packages/sidecar/src/cli/main.ts',
	client: 'packages/client/src/index.ts',
	tls: 'packages/client/src/tls.ts',
};

/**
 * Builds the programs of a commit, unless they are there: `bin/sidecar.js`, `client.js` and `tls.js` in the directory that it returns.
 * Ends the process with a message where this clone does not have the commit.
 */
export async function earlierBuild(name) {
	const commit = commitOf(name);
	const home = join(process.env.SPOCK_CACHE_DIR || join(homedir(), '.cache/spock'), 'earlier-builds');
	const directory = join(home, `${commit}-${RECIPE}`);
	if (existsSync(directory)) return directory;
	say(`building the programs of ${commit} (once, seconds) …`);
	mkdirSync(home, { recursive: true });
	const tree = mkdtempSync(join(home, 'building-'));
	// Also where a step fails, which ends this process.
	process.once('exit', () => rmSync(tree, { recursive: true, force: true }));
	run('git', ['archive', '--output', join(tree, 'tree.tar'), commit]);
	run('tar', ['-xf', 'tree.tar'], { cwd: tree });
	if (!linkDependencies(tree)) pnpm(['install', '--frozen-lockfile', '--prefer-offline'], { cwd: tree });
	await bundle(tree, join(tree, 'programs'));
	// Whole or not at all, also where two are built at once.
	if (!existsSync(directory)) renameSync(join(tree, 'programs'), directory);
	return directory;
}

function git(...args) {
	const { status, stdout, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
	if (error !== undefined) fail(`could not run git, which has the earlier commits: ${error.message}`);
	return status === 0 ? stdout.trim() : undefined;
}

function commitOf(name) {
	const commit = git('rev-parse', '--quiet', '--verify', '--end-of-options', `${name}^{commit}`);
	if (commit !== undefined) return commit;
	const isShallow = git('rev-parse', '--is-shallow-repository') === 'true';
	const why = isShallow ? ', which is shallow: run `git fetch --unshallow`' : ': run `git fetch`, or name another one';
	return fail(`commit ${name} is not in this clone${why}`);
}

/**
 * Gives the packages of a tree that the programs need their dependencies: the tree's own packages, and what is installed here. False
 * where the tree needs something in another version.
 */
function linkDependencies(tree) {
	const links = new Map();
	const waiting = ['sidecar', 'client'];
	for (const name of waiting) {
		const { dependencies = {} } = manifestIn(join(tree, 'packages', name));
		for (const [dependency, version] of Object.entries(dependencies)) {
			const link = join(tree, 'packages', name, 'node_modules', dependency);
			if (version.startsWith('workspace:')) {
				const other = dependency.replace('@spock/', '');
				if (!waiting.includes(other)) waiting.push(other);
				links.set(link, join(tree, 'packages', other));
			} else {
				const installed = join(root, 'packages', name, 'node_modules', dependency);
				if (!existsSync(installed) || manifestIn(installed).version !== version) return false;
				links.set(link, realpathSync(installed));
			}
		}
	}
	for (const [link, target] of links) {
		mkdirSync(dirname(link), { recursive: true });
		symlinkSync(target, link);
	}
	return true;
}

function manifestIn(directory) {
	return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
}

async function bundle(tree, out) {
	// Only now, because they are installed.
	const { build } = await import('esbuild');
	const { requireBanner, sourceBundle } = await import('../test/testkit/src/source-bundle.js');
	const { rawFiles } = await import('../test/testkit/src/raw-files.js');
	const outdir = out;
	const entryPoints = Object.fromEntries(Object.entries(ENTRIES).map(([output, entry]) => [output, join(tree, entry)]));
	await build({ ...sourceBundle, entryPoints, outdir, banner: requireBanner, plugins: [rawFiles] });
	mkdirSync(join(out, 'bin'));
	renameSync(join(tree, 'packages/sidecar/bin/sidecar.js'), join(out, 'bin/sidecar.js'));
	renameSync(join(tree, 'packages/sidecar/package.json'), join(out, 'package.json'));
}
