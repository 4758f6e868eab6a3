import { join } from 'node:path';

import ts from 'typescript';
import { expect, it } from 'vitest';

import { serviceMapModule } from '../packages/sidecar/src/cli/commands/typegen.ts';

// The compiler is asked what a person would be told: by files that are nowhere but here, beside this one.
const RESOLUTIONS = {
	NodeNext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
	Bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
};
/** For a machine that is busy: the compiler reads all of the client. */
const COMPILE_TIMEOUT_MS = 120_000;
const OPTIONS: ts.CompilerOptions = {
	target: ts.ScriptTarget.ES2023,
	lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
	types: ['node'],
	customConditions: ['@spock/source'],
	allowImportingTsExtensions: true,
	strict: true,
	exactOptionalPropertyTypes: true,
	noPropertyAccessFromIndexSignature: true,
	isolatedModules: true,
	isolatedDeclarations: true,
	declaration: true,
	erasableSyntaxOnly: true,
	verbatimModuleSyntax: true,
	noEmit: true,
	skipLibCheck: true,
};

/** What the compiler says of these files, and of the client's own source as far as they use it. */
function complaintsOf(files: Readonly<Record<string, string>>, options: ts.CompilerOptions): string[] {
	const texts = new Map(Object.entries(files).map(([name, text]) => [join(import.meta.dirname, name), text]));
	const host = ts.createCompilerHost(options);
	const { fileExists, readFile, getSourceFile } = host;
	host.fileExists = (path) => texts.has(path) || fileExists(path);
	host.readFile = (path) => texts.get(path) ?? readFile(path);
	host.getSourceFile = (path, version, ...rest) => {
		const text = texts.get(path);
		return text === undefined
			? getSourceFile(path, version, ...rest)
			: ts.createSourceFile(path, text, version, undefined);
	};
	const program = ts.createProgram([...texts.keys()], { ...OPTIONS, ...options }, host);
	return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, code, messageText }) => {
		const { line = -1 } = file?.getLineAndCharacterOfPosition(start) ?? {};
		const name = file?.fileName.slice(import.meta.dirname.length + 1);
		return `${name}:${line + 1} TS${code} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
	});
}

const strange = ['order-desk', '1', '__proto__', "it's", 'back\\slash', '🖖'];
const services = serviceMapModule(['barista', ...strange], 'services.json');

const ASKING = `import { NameRule } from '@spock/client/integrations';
import type { Diplomat, KnownServiceQuery, ServiceName as Known, ServiceOrQuery } from '@spock/client';
export async function ask(diplomat: Diplomat): Promise<void> {
	await diplomat.getService('barista');
	await diplomat.getService('barista', { key: 'a' });
	(await diplomat.acquire('barista')).release('success');
	diplomat.tryAcquire({ service: 'barista' })?.release('success');
	diplomat.pick({ service: 'barista', tags: ['v1'], datacenter: 'east' });
	await diplomat.getInstances('barista');
	await diplomat.explain({ service: 'barista' });
	for await (const { instances } of diplomat.watchService('barista')) void instances;
	const question: ServiceOrQuery = { service: 'barista' };
	await diplomat.getService(question);
	const byHost = new NameRule().query('barista.spock') as KnownServiceQuery;
	await diplomat.acquire(byHost);
	const name: Known = 'barista';
	await diplomat.getService(name);
	await diplomat.register({ service: 'a name of its own', port: 1 });
}
`;

const BY_THE_MAP = `import type { Diplomat } from '@spock/client';
import { type ServiceName, services } from './services.ts';
export async function ask(diplomat: Diplomat, given: string): Promise<void> {
	await diplomat.getService(services.barista);
	diplomat.pick({ service: services['order-desk'] });
	${strange.map((name) => `await diplomat.getService(${JSON.stringify(name)});`).join(' ')}
	for (const name of Object.values(services)) await diplomat.getService(name);
	await diplomat.getService(given as ServiceName);
}
`;

const MISSPELT = `import type { Diplomat } from '@spock/client';
import { services } from './services.ts';
export function ask(diplomat: Diplomat, given: string): void {
	void diplomat.getService('barrista');
	diplomat.pick('barrista');
	void diplomat.getInstances({ service: 'barrista', tags: ['v1'] });
	void diplomat.acquire({ service: 'barrista' });
	diplomat.tryAcquire('barrista');
	void diplomat.explain('Barista');
	diplomat.watchService('barista ');
	void diplomat.getService(services.barrista);
	void diplomat.getService(given);
}
`;

const notAService = (line: number, name: string): string =>
	`misspelt.ts:${line} TS2345 Argument of type '${name}' is not assignable to parameter of type 'ServiceOrQuery'.`;
const misspeltMember = (line: number): string =>
	`misspelt.ts:${line} TS2820 Type '"barrista"' is not assignable to type 'keyof KnownServices'. Did you mean '"barista"'?`;

it.each(Object.entries(RESOLUTIONS))(
	'with what typegen has written, under %s, a name that is misspelt does not compile; every other does',
	(_, options) => {
		const files = {
			'services.ts': services,
			'asking.ts': ASKING,
			'by-the-map.ts': BY_THE_MAP,
			'misspelt.ts': MISSPELT,
		};
		expect(complaintsOf(files, options)).toEqual([
			notAService(4, '"barrista"'),
			notAService(5, '"barrista"'),
			misspeltMember(6),
			misspeltMember(7),
			notAService(8, '"barrista"'),
			notAService(9, '"Barista"'),
			notAService(10, '"barista "'),
			expect.stringMatching(/^misspelt\.ts:11 TS2551 Property 'barrista' does not exist .* Did you mean 'barista'\?$/),
			notAService(12, 'string'),
		]);
	},
	COMPILE_TIMEOUT_MS,
);

it(
	'with no file of typegen every name compiles, as ever',
	() => {
		const free = MISSPELT.replaceAll(/^.*\bservices\b.*\n/gm, '');
		expect(complaintsOf({ 'asking.ts': ASKING, 'free.ts': free }, RESOLUTIONS.NodeNext)).toEqual([]);
	},
	COMPILE_TIMEOUT_MS,
);
