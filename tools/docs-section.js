// A part of a page of docs/ that a command writes: what stands between `<!-- name -->` and the next `<!-- end -->`.
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { fail, root, say } from './prepare.js';

/** Puts the text into the page. Ends the process if the page has no such place. */
export function replaceInDocs(name, text, page) {
	const path = resolve(root, page);
	writeFileSync(path, withSection(name, text, path));
	say(`wrote ${path}`);
}

/** Ends the process if the page does not have this text already; `command` brings it up to date. */
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
