// For typedoc.json: entries are called as they are imported, and pages by their headings, in the order of docs/README.md.
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Converter, ReflectionKind, Renderer } from 'typedoc';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {import('typedoc').Application} app */
export function load(app) {
	app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
		for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
			module.name = `@spock/${module.name.replace('/src', '')}`;
		}
	});
	// Their addresses stand by now, and stay those of the files.
	app.renderer.on(Renderer.EVENT_BEGIN, ({ project }) => {
		const order = pageOrder(readFileSync(join(root, 'docs/README.md'), 'utf8'));
		// What that page does not link stands behind the README of its folder; what is no page, behind all.
		const rank = ({ name, kind }) => {
			if (kind !== ReflectionKind.Document) return order.size + 1;
			return order.get(name) ?? (order.get(posix.join(posix.dirname(name), 'README')) ?? order.size) + 0.5;
		};
		for (const { children } of [...(project.groups ?? []), { children: project.childrenIncludingDocuments ?? [] }]) {
			children.sort((left, right) => rank(left) - rank(right));
		}
		for (const page of project.getReflectionsByKind(ReflectionKind.Document)) {
			const heading = page.content
				.map(({ text }) => text)
				.join('')
				.match(/^# (.+)$/m)?.[1];
			if (heading !== undefined) page.name = heading.replaceAll('`', '');
		}
	});
	app.renderer.on(Renderer.EVENT_END, ({ outputDirectory }) => {
		process.stdout.write(`The site: ${join(outputDirectory, 'index.html')}\n`);
	});
}

/** The place of each page by its path without its ending, in the order in which this page links them; the README of the project is the first. */
function pageOrder(text) {
	const links = [...text.matchAll(/\]\(([^)#:]+)\.md[)#]/g)].map(([, path]) => posix.join('docs', path));
	return new Map([...new Set(['README', ...links])].map((path, index) => [path, index]));
}
