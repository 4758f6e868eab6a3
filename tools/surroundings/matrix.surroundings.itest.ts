import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
	cpSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { packPackages } from '../pack-packages.js';
import { installPacked } from '../packed-app.js';

const ALL_MS_MAX = 900_000;
const RUN_MS_MAX = 120_000;
const HOST = '127.0.0.1';

/** A column: what calls.mjs calls, one after the other. */
const INTEGRATIONS = ['client', 'undici', 'http', 'discovery', 'grpc', 'pg', 'ioredis', 'fastify', 'nestjs'] as const;
type Integration = (typeof INTEGRATIONS)[number];

/** A row: where they run. Without `nodes`, on each. */
interface Surrounding {
	readonly name: string;
	/** Arguments of Node. */
	readonly args: readonly string[];
	readonly nodes?: readonly number[];
	readonly env?: Readonly<Record<string, string>>;
	/** Default: all. */
	readonly integrations?: readonly Integration[];
	/** What must not be in its output. */
	readonly silentOn?: RegExp;
}

const NODES = [20, 22, 24, 26];
const ENDS = [20, 26];
/** Fastify 5.12 needs a package in ES modules, which Jest cannot load. */
const BY_JEST = INTEGRATIONS.filter((name) => name !== 'fastify');
const jest = (version: number): string => `node_modules/jest${version}/bin/jest.js`;

const SURROUNDINGS: readonly Surrounding[] = [
	{ name: 'ES modules', args: ['main.mjs'] },
	{ name: 'CommonJS', args: ['-e', 'require("./commonjs/calls.js").run()'] },
	{ name: 'packages behind links, as pnpm installs them, loaded after connect()', args: ['linked/main.mjs'] },
	{
		name: 'proxies of the environment',
		args: ['main.mjs'],
		nodes: [24, 26],
		// Nothing listens there.
		env: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: `http://${HOST}:1`, HTTPS_PROXY: `http://${HOST}:1` },
	},
	{
		name: 'frozen intrinsics',
		args: ['--frozen-intrinsics', 'main.mjs'],
		nodes: ENDS,
		// What Nest needs extends `Reflect`.
		integrations: INTEGRATIONS.filter((name) => name !== 'nestjs'),
	},
	{ name: 'OpenTelemetry', args: ['--import', './otel.mjs', 'main.mjs'] },
	{
		name: 'dd-trace',
		args: ['--import', 'dd-trace/initialize.mjs', 'main.mjs'],
		env: {
			DD_INSTRUMENTATION_TELEMETRY_ENABLED: 'false',
			DD_REMOTE_CONFIGURATION_ENABLED: 'false',
			DD_TRACE_STARTUP_LOGS: 'false',
		},
	},
	{ name: 'a CommonJS bundle of esbuild', args: ['bundles/esbuild.cjs'], nodes: ENDS },
	{ name: 'a bundle of esbuild in ES modules', args: ['bundles/esbuild.mjs'], nodes: ENDS },
	{
		name: 'a bundle of esbuild in ES modules, without a banner',
		args: ['bundles/esbuild-plain.mjs'],
		nodes: ENDS,
		integrations: ['client', 'undici', 'http'],
	},
	{ name: 'a CommonJS bundle of webpack', args: ['bundles/webpack.cjs'], nodes: ENDS },
	{ name: 'a bundle of webpack in ES modules', args: ['bundles/webpack.mjs'], nodes: ENDS },
	{ name: 'Jest 29', args: [jest(29), '--ci', 'commonjs/calls.test.js'], nodes: ENDS, integrations: BY_JEST },
	{
		name: 'Jest 30',
		args: [jest(30), '--ci', '--detectOpenHandles', 'commonjs/calls.test.js'],
		integrations: BY_JEST,
		silentOn: /open handle/,
	},
	{ name: 'Vitest', args: ['node_modules/vitest/vitest.mjs', 'run', '--globals'], nodes: ENDS },
];

/** What came of a row: the report of calls.mjs, if it was written. */
interface Outcome {
	readonly status: number;
	readonly output: string;
	readonly report: Readonly<Record<string, string>>;
}

const rows = SURROUNDINGS.flatMap((one) => (one.nodes ?? NODES).map((node) => ({ ...one, node })));
type Row = (typeof rows)[number];

let place = '';
let app = '';
const children: ChildProcess[] = [];
let env: Record<string, string> = {};
const outcomes = new Map<Row, Outcome>();

/** Starts a program of the app; gives the first line that it prints. */
async function start(...args: readonly string[]): Promise<string> {
	const child = spawn(process.execPath, args, { cwd: app, stdio: ['ignore', 'pipe', 'inherit'] });
	children.push(child);
	const [chunk] = await once(child.stdout, 'data');
	expect(String(chunk)).not.toContain('"fatal"');
	return String(chunk);
}

function nodeOf(major: number): string {
	if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
	const script = fileURLToPath(new URL('../node-binary.sh', import.meta.url));
	const { stdout, status } = spawnSync('bash', [script, String(major)], { encoding: 'utf8' });
	if (status !== 0) throw new Error(`Node ${major} cannot be had here`);
	return stdout.trim();
}

/** As pnpm and workspaces do it: what an app imports is a link to where it is. */
function link(): void {
	const modules = join(app, 'linked/node_modules');
	for (const name of readdirSync(join(app, 'node_modules')).filter((one) => !one.startsWith('.'))) {
		const names = name.startsWith('@')
			? readdirSync(join(app, 'node_modules', name)).map((one) => join(name, one))
			: [name];
		if (name.startsWith('@')) mkdirSync(join(modules, name), { recursive: true });
		for (const one of names) symlinkSync(join(app, 'node_modules', one), join(modules, one));
	}
	for (const file of ['calls.mjs', 'main.mjs']) cpSync(join(app, file), join(app, 'linked', file));
}

beforeAll(async () => {
	place = mkdtempSync(join(tmpdir(), 'spock-surroundings-'));
	app = join(place, 'app');
	cpSync(fileURLToPath(new URL('.', import.meta.url)), app, { recursive: true });
	const { dependencies } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'));
	installPacked(app, packPackages(join(place, 'archives'), { isChecked: false }), dependencies, { quiet: true });
	mkdirSync(join(app, 'linked/node_modules'), { recursive: true });
	link();
	writeFileSync(join(app, 'vitest.config.mjs'), "export default { test: { include: ['calls.test.mjs'] } };");
	const bundled = spawnSync(process.execPath, ['bundle.mjs', 'bundles'], { cwd: app, encoding: 'utf8' });
	expect([bundled.stderr, bundled.status]).toEqual(['', 0]);

	const ports: Record<string, number> = JSON.parse(await start('counterparts.mjs'));
	const services = Object.entries(ports).map(([name, port]) => [name, [{ host: HOST, port }]]);
	const file = join(place, 'services.json');
	writeFileSync(file, JSON.stringify({ services: Object.fromEntries(services) }));
	env = { SPOCK_SOCKET: join(place, 'sidecar.sock'), SPOCK_CONSUL: `http://${HOST}:${ports['consul']}` };
	const sidecar = ['node_modules/@spock/sidecar/bin/sidecar.js', 'start', '--grace-ms', '0'];
	await start(...sidecar, '--socket', env['SPOCK_SOCKET'] ?? '', '--backend', 'local', '--services', file);
	const waiting = [...rows];
	await Promise.all(Array.from({ length: availableParallelism() }, () => work(waiting)));
}, ALL_MS_MAX);

afterAll(async () => {
	for (const child of children) child.kill();
	await rm(place, { recursive: true, force: true });
}, ALL_MS_MAX);

/** Runs a row in a process of its own. */
async function run({ name, node, args, integrations = INTEGRATIONS, env: more }: Row): Promise<Outcome> {
	const file = join(place, `${name}-${node}.json`.replaceAll(/[^\w.-]/g, '-'));
	const { PATH = '', HOME = '/' } = process.env;
	const child = spawn(nodeOf(node), args, {
		cwd: app,
		env: { PATH, HOME, ...env, ...more, SPOCK_REPORT: file, SPOCK_CALLS: integrations.join() },
		stdio: ['ignore', 'pipe', 'pipe'],
		timeout: RUN_MS_MAX,
	});
	let output = '';
	for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
	const [status] = await once(child, 'close');
	return { status, output, report: existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {} };
}

/** As many rows run at once as there are cores. */
async function work(waiting: Row[]): Promise<void> {
	for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) outcomes.set(row, await run(row));
}

describe.each(rows)('$name, Node $node', (row) => {
	const { integrations = INTEGRATIONS, silentOn } = row;

	it.each(integrations)('%s', (integration) => {
		const { report, output } = outcomes.get(row) as Outcome;
		expect(report[integration] ?? output).toBe('works');
	});

	it('ends by itself, in good order', () => {
		const { status, output } = outcomes.get(row) as Outcome;
		expect(status, output).toBe(0);
		if (silentOn !== undefined) expect(output).not.toMatch(silentOn);
	});
});
