import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';
import { expect, it } from 'vitest';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** A snippet as a module beside its page, by the name that an error shows: `docs/GRPC.md:12.ts`. */
function snippetsOf(page: string): [path: string, text: string][] {
	const text = readFileSync(join(root, page), 'utf8');
	return [...text.matchAll(/^```(?:js|ts)\n(.*?)^```/gms)].map(({ 1: code = '', index }) => {
		const line = text.slice(0, index).split('\n').length;
		return [join(root, `${page}:${line}.ts`), `${code}\nexport {};`];
	});
}

const pages = [
	'README.md',
	...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
	...readdirSync(join(root, 'packages')).map((name) => `packages/${name}/README.md`),
];
const snippets = new Map(
	pages.filter((page) => page.endsWith('.md') && existsSync(join(root, page))).flatMap(snippetsOf),
);

/** What snippets use without declaring it: the Diplomat of an earlier snippet, the app's own things. */
const GLOBALS = join(root, 'docs/globals.d.ts');
const globals: [string, string] = [
	GLOBALS,
	`
declare const diplomat: import('@spock/client').Diplomat;
declare const otherDiplomat: import('@spock/client').Diplomat;
declare const events: import('@spock/client/events').Events;
declare function bill(order: unknown, signal?: AbortSignal): Promise<void>;
declare function rowsBehind(after: string | null, max: number): Promise<{ id: string; stream: string; payload: unknown }[]>;
declare function deleteUpTo(id: string): Promise<void>;
declare const httpAgent: import('@spock/http').DiscoveryAgent;
declare const signal: AbortSignal;
declare const password: string;
declare const ca: string;
declare function readToken(): Promise<string>;
declare const log: import('pino').Logger;
declare function histogram(func: string, code: string | undefined): { record(value: number): void };
declare function httpBackend(url: string | undefined, options: unknown): import('@spock/discovery').Backend;
declare function makeFixture(): import('@spock/discovery/contract').BackendFixture;
declare function callInstance(address: import('@spock/client').ServiceAddress): Promise<string>;
declare const Employee: import('@grpc/grpc-js').ServiceClientConstructor;
`,
];

/** What `sidecar typegen` writes, less the part by which all other names no longer compile. */
const services: [string, string] = [
	join(root, 'docs/integrations/services.ts'),
	"export const services = { barista: 'barista' } as const;",
];

/** As an app compiles that is strict and has the DOM library, which is what TypeScript does when nothing else is said. */
const options: ts.CompilerOptions = {
	strict: true,
	noEmit: true,
	skipLibCheck: true,
	target: ts.ScriptTarget.ES2023,
	lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
	module: ts.ModuleKind.NodeNext,
	moduleResolution: ts.ModuleResolutionKind.NodeNext,
	customConditions: ['@spock/source'],
	allowImportingTsExtensions: true,
	// Those of NestJS.
	experimentalDecorators: true,
	types: ['node'],
};

function errorsOf(modules: ReadonlyMap<string, string>): string[] {
	const host = ts.createCompilerHost(options);
	const { fileExists, readFile, getSourceFile } = host;
	host.fileExists = (path) => modules.has(path) || fileExists(path);
	host.readFile = (path) => modules.get(path) ?? readFile(path);
	host.getSourceFile = (path, version) => {
		const text = modules.get(path);
		return text === undefined ? getSourceFile(path, version) : ts.createSourceFile(path, text, version, true);
	};
	// An app has the packages that it uses; here each is among the dependencies of a package or an example.
	const places = ['packages', 'test', 'examples'].flatMap((folder) =>
		readdirSync(join(root, folder)).map((name) => join(root, folder, name, 'package.json')),
	);
	host.resolveModuleNameLiterals = (literals, from, redirected, _options, source) =>
		literals.map((literal) => {
			const mode = ts.getModeForUsageLocation(source, literal, options);
			const resolve = (place: string) =>
				ts.resolveModuleName(literal.text, place, options, host, undefined, redirected, mode);
			if (!modules.has(from)) return resolve(from);
			return [from, ...places].map(resolve).find(({ resolvedModule }) => resolvedModule !== undefined) ?? resolve(from);
		});
	const program = ts.createProgram([...modules.keys()], options, host);
	return [...modules.keys()].flatMap((path) => {
		const source = program.getSourceFile(path);
		return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
			({ messageText }) => `${path.slice(root.length + 1)} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
		);
	});
}

it('every snippet of the READMEs and the guides compiles, strictly and with the DOM library', () => {
	expect(snippets.size).toBeGreaterThan(20);
	const wrong = join(root, 'README.md:0.ts');
	expect(
		errorsOf(new Map([globals, services, ...snippets, [wrong, "await diplomat.getServices('barista');\nexport {};"]])),
	).toEqual([expect.stringContaining("README.md:0.ts Property 'getServices' does not exist on type 'Diplomat'")]);
}, 300_000);
