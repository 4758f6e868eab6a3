import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { findConsul } from '@spock/testkit/real-consul';

/** A program of the machine, or why it is not there. */
export type Tool = { readonly path: string } | { readonly missing: string };

/** A built entry point of this package that is a process of a run. */
export type Entry =
	| 'events-app'
	| 'events-peer'
	| 'events-store'
	| 'load-client'
	| 'probe'
	| 'rolling-client'
	| 'rolling-instance'
	| 'serve';

/** What there is without anything but this repository. */
export interface OwnTools {
	/** The Node that clients and servers run on. */
	readonly node: string;
	readonly nodeVersion: string;
	/** For sockets and data; removed by `close`. */
	readonly directory: string;
	/** The command line of the product. */
	readonly sidecar: string;
	/** The top of the repository. */
	readonly repository: string;
	/** A built entry point of this package. */
	entry(name: Entry): string;
	close(): void;
}

/** What the contenders are run with. */
export interface Toolbox extends OwnTools {
	/** The programs of native/, of go/, and servers that others make. */
	readonly native: Tool;
	readonly go: Tool;
	readonly redis: Tool;
	readonly consul: Tool;
}

const packageDirectory = dirname(dirname(fileURLToPath(import.meta.url)));

/** Finds what is built already. `node` is a path. */
export function openOwnTools(node: string): OwnTools {
	const directory = mkdtempSync(join(tmpdir(), 'spock-bench-'));
	return {
		node,
		nodeVersion: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim(),
		directory,
		sidecar: sidecarBin(),
		repository: dirname(packageDirectory),
		entry: (name) => join(packageDirectory, 'dist', `${name}.js`),
		close: () => rmSync(directory, { recursive: true, force: true }),
	};
}

/** Finds and builds what the run needs. `node` is a path. */
export function openToolbox(node: string): Toolbox {
	return {
		...openOwnTools(node),
		native: built('native', ['.c', '.h'], 'gcc', (target) => [
			'-O2',
			'-o',
			target,
			...filesOf('native', ['.c']).map((name) => join(packageDirectory, 'native', name)),
		]),
		go: built('go', ['.go', '.mod', '.sum'], 'go', (target) => [
			'build',
			'-mod=readonly',
			'-trimpath',
			'-o',
			target,
			'.',
		]),
		redis: onPath('redis-server'),
		consul: consulTool(),
	};
}

/** The program that tools/FOLDER/build.sh has built, unless the environment names another one. Nothing is built. */
export function toolOf(folder: string, variable: string, env: Readonly<Record<string, string | undefined>>): Tool {
	const named = env[variable];
	if (named !== undefined && named !== '') return { path: named };
	const script = join(dirname(packageDirectory), 'tools', folder, 'build.sh');
	const { status, stdout, stderr } = spawnSync('bash', [script, '--find'], { encoding: 'utf8', env });
	return status === 0 ? { path: stdout.trim() } : { missing: stderr.trim() };
}

function sidecarBin(): string {
	const manifest = createRequire(import.meta.url).resolve('@spock/sidecar/package.json');
	return join(dirname(manifest), 'bin/sidecar.js');
}

function consulTool(): Tool {
	try {
		return { path: findConsul(process.env) };
	} catch (error) {
		return { missing: (error as Error).message };
	}
}

function onPath(program: string): Tool {
	const found = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();
	return found === '' ? { missing: `${program} is not installed` } : { path: found };
}

function filesOf(folder: string, endings: readonly string[]): string[] {
	return readdirSync(join(packageDirectory, folder), { recursive: true, encoding: 'utf8' })
		.filter((name) => endings.some((ending) => name.endsWith(ending)))
		.sort();
}

/** Builds a program from a folder of this package into the cache, once for each state of its sources. */
function built(
	folder: string,
	endings: readonly string[],
	compiler: string,
	argumentsFor: (target: string) => readonly string[],
): Tool {
	const found = onPath(compiler);
	if ('missing' in found) return found;
	const hash = createHash('sha256');
	for (const name of filesOf(folder, endings))
		hash.update(name).update(readFileSync(join(packageDirectory, folder, name)));
	const cache = process.env['SPOCK_CACHE_DIR'] || join(homedir(), '.cache/spock');
	const target = join(cache, `bench-${folder}-${hash.digest('hex').slice(0, 16)}`);
	if (existsSync(target)) return { path: target };
	mkdirSync(cache, { recursive: true });
	const cwd = join(packageDirectory, folder);
	const result = spawnSync(found.path, argumentsFor(target), { cwd, encoding: 'utf8' });
	if (result.status !== 0) return { missing: `${folder} does not build: ${result.stderr.trim().slice(0, 500)}` };
	return { path: target };
}

/** The versions of packages that this one depends on, by name. */
export function packageVersions(names: readonly string[]): Record<string, string> {
	const require = createRequire(import.meta.url);
	const version = (name: string): string => (require(`${name}/package.json`) as { version: string }).version;
	return Object.fromEntries(names.map((name) => [name, version(name)]));
}

/** The versions of what takes part in a run, by name. */
export function toolVersions(tools: Toolbox): Readonly<Record<string, string>> {
	const versions = packageVersions(['@grpc/grpc-js', 'undici', 'ioredis']);
	const ask = (name: string, tool: Tool, args: readonly string[], pattern: RegExp): void => {
		if ('missing' in tool) return;
		const { stdout } = spawnSync(tool.path, args, { encoding: 'utf8' });
		versions[name] = pattern.exec(stdout)?.[1] ?? 'unknown';
	};
	ask('redis-server', tools.redis, ['--version'], /v=(\S+)/);
	ask('consul', tools.consul, ['version'], /Consul v(\S+)/);
	ask('go', onPath('go'), ['version'], /go(\S+)/);
	ask('gcc', onPath('gcc'), ['-dumpfullversion'], /(\S+)/);
	return versions;
}
