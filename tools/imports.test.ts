import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';
import { describe, expect, it } from 'vitest';

// The direction of imports is the architecture: this is the one place that says who may know whom.
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
	protocol: [],
	balancer: ['protocol'],
	discovery: ['protocol'],
	events: ['protocol'],
	client: ['protocol', 'balancer'],
	sidecar: ['protocol', 'balancer', 'discovery', 'events', 'client'],
	testkit: ['protocol'],
	bench: ['protocol', 'balancer', 'discovery', 'events', 'client', 'sidecar', 'testkit', 'undici', 'http', 'grpc'],
	hostile: ['protocol', 'discovery', 'client', 'sidecar', 'testkit'],
	simulation: ['protocol', 'discovery', 'events', 'client', 'sidecar', 'testkit'],
	kubernetes: ['client', 'testkit'],
	undici: ['protocol', 'client'],
	http: ['protocol', 'client'],
	pg: ['protocol', 'client'],
	ioredis: ['protocol', 'client'],
	grpc: ['protocol', 'client'],
	fastify: ['protocol', 'client'],
	nestjs: ['protocol', 'client'],
};
const THIRD_PARTY: Readonly<Record<string, readonly string[]>> = {
	protocol: [],
	balancer: [],
	discovery: ['consul', 'dns-packet', 'yaml'],
	events: ['@nats-io/jetstream', '@nats-io/transport-node'],
	client: [],
	sidecar: [
		...['@grpc/grpc-js', '@grpc/proto-loader', 'commander', 'pino', 'pino-pretty', 'prom-client'],
		...['string-width', 'wrap-ansi', 'yaml'],
	],
	testkit: ['dns-packet'],
	simulation: ['esbuild'],
	bench: [
		...['@grpc/grpc-js', '@grpc/proto-loader', '@nats-io/jetstream', '@nats-io/transport-node', '@platformatic/kafka'],
		...['commander', 'esbuild', 'ioredis', 'mitata', 'undici'],
	],
	hostile: ['esbuild'],
	kubernetes: ['esbuild', 'yaml'],
	undici: [],
	http: [],
	pg: [],
	ioredis: [],
	grpc: [],
	fastify: ['fastify-plugin'],
	nestjs: [],
};
/** What whoever uses a package brings. */
const PEERS: Readonly<Record<string, readonly string[]>> = {
	client: ['@opentelemetry/api'],
	testkit: ['fast-check', 'vitest'],
	undici: ['undici'],
	http: [],
	pg: ['pg'],
	ioredis: ['ioredis'],
	grpc: ['@grpc/grpc-js'],
	fastify: ['fastify'],
	nestjs: ['@nestjs/common', '@nestjs/core'],
};
/** What the build puts into a package's own files: dev dependencies that its source imports. */
const BUNDLED: Readonly<Record<string, readonly string[]>> = { bench: ['echarts'] };
const EXPORT_KEYS: Readonly<Record<string, readonly string[]>> = {
	protocol: ['.', './internal', './node', './package.json'],
	balancer: ['.', './package.json'],
	discovery: ['.', './contract', './package.json'],
	events: ['.', './contract', './forward', './package.json', './stores'],
	client: ['.', './events', './integrations', './otel', './package.json', './tls', './upstream'],
	sidecar: ['.', './package.json'],
	testkit: [
		'.',
		'./certificates',
		'./consul-cluster',
		'./hostile',
		'./hostile-arbitraries',
		'./raw-files',
		'./real-consul',
		'./real-databases',
		'./real-nats',
		'./sim-files',
		'./source-bundle',
	],
	bench: [],
	hostile: [],
	simulation: [],
	kubernetes: [],
	undici: ['.', './package.json'],
	http: ['.', './package.json'],
	pg: ['.', './package.json'],
	ioredis: ['.', './package.json'],
	grpc: ['.', './package.json'],
	fastify: ['.', './package.json'],
	nestjs: ['.', './package.json'],
};
/** What a package's own files say, outside any folder, in a table of doors. */
const ROOT = 'src';
/** Packages whose folders have doors: a table of docs/ARCHITECTURE.md says which folder may import which. */
const WITH_DOORS: readonly string[] = ['client', 'discovery', 'events', 'grpc', 'protocol', 'sidecar'];
/** Parts of Node that the pure half of the protocol and the balancer may not touch. `node:buffer` is bytes, not I/O. */
const IMPURE = /^node:(?!buffer$)/;

const root = fileURLToPath(new URL('../', import.meta.url));
/** Where each package is. What is no product stands outside of `packages`. */
const PLACES: ReadonlyMap<string, string> = new Map([
	...['packages', 'test'].flatMap((place) =>
		readdirSync(join(root, place)).map((name) => [name, join(root, place, name)] as const),
	),
	['bench', join(root, 'benchmarks')],
]);
const architecture = readFileSync(new URL('../docs/ARCHITECTURE.md', import.meta.url), 'utf8');

interface Manifest {
	readonly dependencies?: Record<string, string>;
	readonly devDependencies?: Record<string, string>;
	readonly peerDependencies?: Record<string, string>;
	readonly peerDependenciesMeta?: Record<string, { readonly optional?: boolean }>;
	readonly exports?: Record<string, unknown>;
}

function placeOf(name: string): string {
	const place = PLACES.get(name);
	if (place === undefined) throw new Error(`unknown package ${name}`);
	return place;
}

function manifestOf(name: string): Manifest {
	return JSON.parse(readFileSync(join(placeOf(name), 'package.json'), 'utf8')) as Manifest;
}

function sourcesOf(name: string): string[] {
	const directory = join(placeOf(name), 'src');
	return readdirSync(directory, { recursive: true, encoding: 'utf8' })
		.filter((path) => path.endsWith('.ts') && !/\.i?test\.ts$/.test(path) && !path.endsWith('.test-d.ts'))
		.map((path) => join(directory, path));
}

interface Import {
	readonly file: string;
	readonly target: string;
}

function importsOf(file: string): Import[] {
	const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
	const found: Import[] = [];
	const visit = (node: ts.Node): void => {
		if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined) {
			const { text: target } = node.moduleSpecifier as ts.StringLiteral;
			found.push({ file, target });
		} else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
			const [target] = node.arguments;
			if (target !== undefined && ts.isStringLiteral(target)) found.push({ file, target: target.text });
		} else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
			found.push({ file, target: (node.argument.literal as ts.StringLiteral).text });
		}
		ts.forEachChild(node, visit);
	};
	visit(source);
	return found;
}

type Graph = ReadonlyMap<string, readonly string[]>;

/** Throws where something leads back to itself. */
function refuseCycle(graph: Graph): void {
	const done = new Set<string>();
	const visit = (node: string, trail: readonly string[]): void => {
		if (trail.includes(node)) throw new Error(`a cycle: ${[...trail, node].join(' -> ')}`);
		if (done.has(node)) return;
		for (const next of graph.get(node) ?? []) visit(next, [...trail, node]);
		done.add(node);
	};
	for (const node of graph.keys()) visit(node, []);
}

/** Which file imports which of its own package, types included. */
function fileGraph(sources: readonly string[]): Graph {
	const targetsOf = (file: string): string[] =>
		importsOf(file)
			.filter(({ target }) => /^\..*\.ts$/.test(target))
			.map(({ target }) => resolve(dirname(file), target));
	return new Map(sources.map((file) => [file, targetsOf(file)]));
}

/** Which folder of a package imports which other ones, by name, in the order of the alphabet. */
function folderGraph(name: string): Graph {
	const home = join(placeOf(name), 'src');
	const folderOf = (file: string): string => relative(home, dirname(file)).replaceAll('\\', '/') || ROOT;
	const found = new Map<string, Set<string>>();
	for (const [file, targets] of fileGraph(sourcesOf(name))) {
		const folder = folderOf(file);
		const others = targets.map(folderOf).filter((other) => other !== folder);
		found.set(folder, new Set([...(found.get(folder) ?? []), ...others]));
	}
	return new Map([...found].sort().map(([folder, others]) => [folder, [...others].sort()]));
}

/** The same, as the table says that it shall be. */
function doorsOf(name: string): Graph {
	const [, table = ''] = new RegExp(`<!-- doors: ${name} -->\n([^]*?)<!-- end -->`).exec(architecture) ?? [];
	const namesIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
	const rows = table
		.split('\n')
		.filter((line) => line.startsWith('| `'))
		.map((line) => line.split('|'))
		.map(([, folder, , allowed]) => [namesIn(folder).join(), namesIn(allowed).sort()] as const);
	return new Map([...rows].sort());
}

/** Every name that a file uses: for what it may not touch, whatever its comments say. */
function namesIn(file: string): Set<string> {
	const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
	const names = new Set<string>();
	const visit = (node: ts.Node): void => {
		if (ts.isIdentifier(node)) names.add(node.text);
		ts.forEachChild(node, visit);
	};
	visit(source);
	return names;
}

describe('imports', () => {
	it('the table names every package that there is', () => {
		expect([...PLACES.keys()].sort()).toEqual(Object.keys(MAY_IMPORT).sort());
	});

	describe.each(Object.keys(MAY_IMPORT))('%s', (name) => {
		const sources = sourcesOf(name);
		const allowed = MAY_IMPORT[name]?.map((other) => `@spock/${other}`) ?? [];
		const thirdParty = THIRD_PARTY[name] ?? [];
		const peers = PEERS[name] ?? [];
		const bundled = BUNDLED[name] ?? [];

		it('imports only the packages it may know', () => {
			expect(sources.length).toBeGreaterThan(0);
			const strangers = sources.flatMap(importsOf).filter(({ target }) => {
				if (target.startsWith('.') || target.startsWith('node:')) return false;
				const known = [...allowed, ...thirdParty, ...peers, ...bundled];
				return !known.some((prefix) => target === prefix || target.startsWith(`${prefix}/`));
			});
			expect(strangers).toEqual([]);
		});

		it('declares exactly these dependencies and export keys', () => {
			const { dependencies = {}, devDependencies = {}, peerDependencies = {}, exports = {} } = manifestOf(name);
			expect(Object.keys(peerDependencies).sort()).toEqual([...peers].sort());
			expect(Object.keys(dependencies).sort()).toEqual([...allowed, ...thirdParty].sort());
			expect(Object.keys(devDependencies)).toEqual(expect.arrayContaining([...bundled]));
			expect(Object.keys(exports).sort()).toEqual(EXPORT_KEYS[name]);
		});

		it('imports no file outside its own src by path', () => {
			const home = join(placeOf(name), 'src');
			// The version stands in package.json, and the build puts it in.
			const outside = sources
				.flatMap(importsOf)
				.filter(({ target }) => target !== '../../package.json')
				.filter(
					({ file, target }) =>
						target.startsWith('.') && relative(home, resolve(dirname(file), target)).startsWith('..'),
				);
			expect(outside.map(({ file, target }) => `${file}: ${target}`)).toEqual([]);
		});

		it('has no cycle among its files', () => {
			const graph = fileGraph(sources);
			expect(graph.size).toBeGreaterThan(0);
			expect([...graph.values()].flat().filter((file) => !graph.has(file))).toEqual([]);
			refuseCycle(graph);
		});
	});

	describe.each(WITH_DOORS)('the folders of %s', (name) => {
		it('import what the table of docs/ARCHITECTURE.md says', () => {
			expect(Object.fromEntries(folderGraph(name))).toEqual(Object.fromEntries(doorsOf(name)));
		});

		it('have doors that lead one way', () => refuseCycle(doorsOf(name)));
	});

	it('the pure half of the protocol and the balancer touch no part of Node that does I/O, and no timer', () => {
		const pure = [...sourcesOf('protocol'), ...sourcesOf('balancer')].filter(
			(file) => !/[/\\](?:node|internal)[/\\]/.test(relative(root, file)),
		);
		expect(pure.length).toBeGreaterThan(10);
		for (const file of pure) {
			for (const { target } of importsOf(file))
				expect(`${file} -> ${target}`).not.toMatch(new RegExp(`-> ${IMPURE.source}`));
			const names = namesIn(file);
			for (const name of ['setTimeout', 'setInterval', 'process', 'console'])
				expect([file, names.has(name)]).toEqual([file, false]);
		}
	});

	it('nobody must bring what only a part of the client needs', () => {
		expect(manifestOf('client').peerDependenciesMeta).toEqual({ '@opentelemetry/api': { optional: true } });
	});

	it.each([
		['consul', 'discovery', 'src/backends/consul/client/consul-client.ts'],
		['dns-packet', 'discovery', 'src/backends/dns/dns-message.ts'],
		['@opentelemetry/api', 'client', 'src/otel-events.ts', 'src/otel.ts'],
	])('only one place knows the package %s', (name, owner, ...paths) => {
		const knowing = sourcesOf(owner).filter((file) => importsOf(file).some(({ target }) => target === name));
		expect(knowing.map((file) => relative(placeOf(owner), file))).toEqual(paths);
	});
});
