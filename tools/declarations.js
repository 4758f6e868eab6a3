// `node tools/declarations.js DIRECTORY…`: the types of packages, by TypeScript itself in one pass over all of them. Each source file that
// an export reaches gets a declaration. Nothing is checked or inferred here: each source states its types (`isolatedDeclarations`), so that it
// takes seconds. `npm run check types` compares the types with the code.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

import ts from 'typescript';

import { fail, root } from './prepare.js';

/** As it is declared to a module and to CommonJS. Node's older resolution of types takes the latter. */
const MODULE = { declaration: '.d.ts', program: '.js' };
const COMMON_JS = { declaration: '.d.cts', program: '.cjs' };

/** What a package exports: its source files, each with the name of its program, and the forms of a program. */
function readExports(directory) {
	const { exports } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
	const entries = new Map();
	for (const { '@spock/source': source, default: output } of Object.values(exports)) {
		if (source !== undefined) entries.set(resolve(directory, source), output.replace(/^\.\/dist\/(.*)\.js$/, '$1'));
	}
	const isCommonJs = Object.values(exports).some((target) => target.require !== undefined);
	return { directory, entries, forms: isCommonJs ? [MODULE, COMMON_JS] : [MODULE] };
}

function compilerOptions() {
	const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
	const emission = { noEmit: false, emitDeclarationOnly: true, noCheck: true };
	return ts.convertCompilerOptionsFromJson({ ...config.compilerOptions, ...emission }, root).options;
}

/** The declaration of one file, and the files of its package that it imports, with where their names stand. Ends the process where the file does not state its types. */
function declarationOf(file, program) {
	let text = '';
	const write = (_path, content) => {
		text = content;
	};
	const { diagnostics } = program.emit(program.getSourceFile(file), write, undefined, true);
	if (diagnostics.length > 0) {
		const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => root, getNewLine: () => '\n' };
		fail(ts.formatDiagnostics(diagnostics, host));
	}
	const imports = ts
		.preProcessFile(text, true, true)
		.importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
		// TypeScript's own `end` leaves out the quotes.
		.map(({ fileName, pos }) => ({
			target: resolve(dirname(file), fileName),
			start: pos,
			end: pos + fileName.length + 2,
		}));
	return { text, imports };
}

function writeDeclaration({ directory, entries }, form, file, text, imports) {
	// An entry is beside its program, where TypeScript looks for it; what only other files import has a folder of its own.
	const nameOf = (source) =>
		entries.get(source) ?? join('types', relative(join(directory, 'src'), source).replace(/\.ts$/, ''));
	const path = join(directory, 'dist', `${nameOf(file)}${form.declaration}`);
	let written = '';
	let at = 0;
	for (const { target, start, end } of imports) {
		const specifier = relative(dirname(path), join(directory, 'dist', nameOf(target)))
			.split(sep)
			.join('/');
		written += `${text.slice(at, start)}'${specifier.startsWith('.') ? '' : './'}${specifier}${form.program}'`;
		at = end;
	}
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, written + text.slice(at));
}

const packages = process.argv.slice(2).map(readExports);
const program = ts.createProgram(
	packages.flatMap(({ entries }) => [...entries.keys()]),
	compilerOptions(),
);
for (const one of packages) {
	rmSync(join(one.directory, 'dist/types'), { recursive: true, force: true });
	// Also those that it imports, found on the way.
	const declared = new Set(one.entries.keys());
	for (const file of declared) {
		const { text, imports } = declarationOf(file, program);
		for (const { target } of imports) declared.add(target);
		for (const form of one.forms) writeDeclaration(one, form, file, text, imports);
	}
}
