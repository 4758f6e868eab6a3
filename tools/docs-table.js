// Tables of figures that a suite has taken: printed, and put into docs/TESTING.md between their markers.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

import { fail, root, say } from './prepare.js';

const PAGE = join(root, 'docs/TESTING.md');

/** The rows of a report. Ends the process if there is none; `command` makes it. */
export function readReport(name, command) {
	const report = join(root, 'reports', name);
	if (!existsSync(report)) fail(`there is no ${report}: run \`${command}\``);
	return JSON.parse(readFileSync(report, 'utf8'));
}

/** A table in Markdown; the first column is text, the others are figures. */
export function markdownTable(headings, lines) {
	const rule = headings.map((_, column) => (column === 0 ? '---' : '--:'));
	return [headings, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Prints a table; with `writesDocs` puts it between `<!-- NAME -->` and `<!-- end -->` too, with the date and the machine. */
export function showTable(name, table, writesDocs) {
	say(table);
	if (!writesDocs) return;
	const place = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- end -->)`);
	const page = readFileSync(PAGE, 'utf8');
	if (!place.test(page)) fail(`${PAGE} has no place for the table ${name}`);
	const [processor] = cpus();
	const date = new Date().toISOString().slice(0, 10);
	const origin = `Taken on ${date}, on ${cpus().length} cores (${processor?.model.trim()}), Node ${process.versions.node}.`;
	writeFileSync(
		PAGE,
		page.replace(place, (_, start, end) => `${start}\n${table}\n\n${origin}\n\n${end}`),
	);
	say(`wrote ${PAGE}`);
}
