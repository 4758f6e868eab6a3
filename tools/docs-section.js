// A part of a page of docs/ that a test run writes: what stands between `<!-- name -->` and the next `<!-- end -->`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';

import { fail, root, say } from './prepare.js';

/** The page of the tables that test runs write. */
const PAGE = 'docs/reference/measured.md';

/** The rows of a report. Ends the process if there is none; `command` makes it. */
export function readReport(name, command) {
	const report = join(root, 'reports', name);
	if (!existsSync(report)) fail(`there is no ${report}: run \`${command}\``);
	return JSON.parse(readFileSync(report, 'utf8'));
}

/** Prints a table; with `writesDocs` puts it into the page of measured results too. */
export function showDocsTable(name, table, writesDocs) {
	say(table);
	if (writesDocs) writeDocsSection(name, table);
}

/** Puts the text into the page, with the date and the machine under it. Ends the process if the page has no such place. */
function writeDocsSection(name, text) {
	const [processor] = cpus();
	const date = new Date().toISOString().slice(0, 10);
	const origin = `Taken on ${date}, on ${cpus().length} cores (${processor?.model.trim()}), Node ${process.versions.node}.`;
	replaceInDocs(name, `${text}\n\n${origin}`, PAGE);
}

/** Puts the text into the page as it is. Ends the process if the page has no such place. */
export function replaceInDocs(name, text, page) {
	const path = resolve(root, page);
	writeFileSync(path, withSection(name, text, path));
	say(`wrote ${path}`);
}

/** Ends the process if the page does not say this text there already; `command` brings it up to date. */
export function checkDocsSection(name, text, page, command) {
	const path = resolve(root, page);
	if (withSection(name, text, path) !== readFileSync(path, 'utf8')) {
		fail(`${page} is not what the code says: run \`${command}\``);
	}
	say(`${page} says what the code says`);
}

function withSection(name, text, page) {
	const place = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- end -->)`);
	const before = readFileSync(page, 'utf8');
	if (!place.test(before)) fail(`${page} has no place for ${name}`);
	return before.replace(place, (_, start, end) => `${start}\n${text}\n\n${end}`);
}

/** A table of Markdown; the first column is text, the others are figures. */
export function markdownTable(headings, rows) {
	const rule = headings.map((_, column) => (column === 0 ? '---' : '--:'));
	return [headings, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
