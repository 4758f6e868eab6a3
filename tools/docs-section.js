// What commands write into the repository: whole files, and parts of pages of docs/, between `<!-- name -->` and the next `<!-- end -->`.
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { fail, root, say } from './prepare.js';

/** Puts the text into the page. Ends the process if the page has no such place. */
export function replaceInDocs(name, text, page) {
	const path = resolve(root, page);
	writeFileSync(path, withSection(name, text, path));
	say(`wrote ${path}`);
}

/** As `replaceInDocs`; with `--check` it writes nothing, and ends the process where the page differs. `command` updates it. */
export function updateDocs(name, text, page, command) {
	updateFile(page, withSection(name, text, resolve(root, page)), command);
}

/** Writes a file; with `--check` it writes nothing, and ends the process where the file differs. `command` updates it. */
export function updateFile(file, text, command) {
	const path = resolve(root, file);
	if (readFileSync(path, 'utf8') === text) return;
	if (process.argv.includes('--check')) fail(`${file} differs from the code; run \`${command}\``);
	writeFileSync(path, text);
	say(`wrote ${path}`);
}

function withSection(name, text, page) {
	const place = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(<!-- end -->)`);
	const before = readFileSync(page, 'utf8');
	if (!place.test(before)) fail(`${page} has no place for ${name}`);
	return before.replace(place, (_, start, end) => `${start}\n${text}\n\n${end}`);
}
