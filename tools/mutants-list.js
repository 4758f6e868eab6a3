// tools/mutants.json, read and checked against the sources.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { replaceInDocs } from './docs-section.js';
import { fail, root } from './prepare.js';

/**
 * Every failure that the design knows, by area; with the mends that keep it from happening, each as the text that takes it out
 * (`find`, which must be there exactly once, becomes `replace`), and the test that fails then. `elsewhere`: what guards it that
 * is no test of this kind.
 */
export const failures = JSON.parse(readFileSync(join(root, 'tools/mutants.json'), 'utf8'));

const VECTORS = join(root, 'packages/protocol/vectors');
/** The names of tests that are made of vectors stand there. */
const rules = readdirSync(VECTORS).map((name) => readFileSync(join(VECTORS, name), 'utf8'));

/** What is wrong with the list; nothing, if all is well. */
export function faultsOfList() {
	const faults = [];
	for (const { what, mutants, elsewhere } of failures) {
		if (mutants.length === 0 && elsewhere === undefined) faults.push(`${what}: nothing guards it`);
		for (const { file, find, replace, test, name } of mutants) {
			const count = readFileSync(join(root, file), 'utf8').split(find).length - 1;
			if (count !== 1) faults.push(`${what}: ${file} has ${JSON.stringify(find)} ${count} times`);
			if (find === replace) faults.push(`${what}: ${JSON.stringify(find)} changes nothing`);
			const sources = [readFileSync(join(root, test), 'utf8'), ...rules];
			if (!sources.some((source) => source.replaceAll("\\'", "'").includes(name)))
				faults.push(`${what}: ${test} has no ${name}`);
		}
	}
	return faults;
}

/** The table of docs/TESTING.md. */
export function failuresTable() {
	const rows = failures.map(({ area, what, mutants, elsewhere }) => {
		const files = [...new Set(mutants.map(({ file }) => `\`${shortPath(file)}\``))];
		const tests = [...new Set(mutants.map(({ test, name }) => `\`${shortPath(test)}\`: ${name}`))];
		return [area, what, files.join('<br>'), [...tests, ...(elsewhere === undefined ? [] : [elsewhere])].join('<br>')];
	});
	const headings = ['', 'what goes wrong', 'mend', 'test'];
	const cells = [headings, headings.map(() => '---'), ...rows].map((row) =>
		row.map((cell) => cell.replaceAll('|', '\\|')),
	);
	return cells.map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function shortPath(path) {
	return path.replace(/^packages\//, '').replace('/src/', '/');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const faults = faultsOfList();
	if (faults.length > 0) fail(faults.join('\n'));
	replaceInDocs('failures', failuresTable());
}
