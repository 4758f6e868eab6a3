import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import ts from 'typescript';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** The declarations of each export of each package, as a module (`default`) or as CommonJS (`require`) finds them. */
function exportedDeclarations(condition: 'default' | 'require'): string[] {
	return readdirSync(join(root, 'packages')).flatMap((name) => {
		const directory = join(root, 'packages', name);
		const { exports } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
		return Object.values<Record<string, string>>(exports)
			.map((target) => target[condition])
			.filter((program) => program !== undefined)
			.map((program) => join(directory, program.replace(/\.(c?)js$/, '.d.$1ts')));
	});
}

/** Errors of our own declarations, those of other people's left out. */
function errorsIn(files: readonly string[]): string[] {
	const program = ts.createProgram(files, {
		strict: true,
		noEmit: true,
		exactOptionalPropertyTypes: true,
		target: ts.ScriptTarget.ES2022,
		lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
		module: ts.ModuleKind.NodeNext,
		moduleResolution: ts.ModuleResolutionKind.NodeNext,
		types: ['node'],
	});
	return program
		.getSourceFiles()
		.filter(({ fileName }) => /\/packages\/[^/]+\/dist\//.test(fileName))
		.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
		.map(({ file, messageText }) => `${file?.fileName} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
}

it.each(['default', 'require'] as const)(
	'the built types of every export are whole, each import is found: %s',
	(condition) => {
		const files = exportedDeclarations(condition);
		expect(files.length).toBeGreaterThan(15);
		expect(errorsIn(files)).toEqual([]);
	},
	300_000,
);
