import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
/** Every page that is in the repository; changesets are no pages, and that other part is read in docs/PERFORMANCE.md. */
const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
	.split('\n')
	.filter((path) => path !== '' && !/^(\.changeset\/|docs\/performance\/what-limits-us)/.test(path));

/** The page without what stands in code, where brackets are no links and `#` no heading. */
function textOf(path: string): string {
	return readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The anchors that a forge gives the headings: letters, digits and hyphens, numbered where a heading comes again. */
function anchorsOf(path: string): ReadonlySet<string> {
	const anchors = new Set<string>();
	for (const [, heading = ''] of textOf(path).matchAll(/^#+ (.*)$/gm)) {
		const shown = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
		const slug = shown
			.toLowerCase()
			.replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
			.replaceAll(' ', '-');
		let anchor = slug;
		for (let count = 1; anchors.has(anchor); count += 1) anchor = `${slug}-${count}`;
		anchors.add(anchor);
	}
	return anchors;
}

/** What is wrong with a link of the page; undefined if it leads somewhere. */
function problemOf(page: string, link: string): string | undefined {
	const [path = '', anchor] = link.split('#');
	const target = path === '' ? join(root, page) : join(root, dirname(page), path);
	if (relative(root, target).startsWith('..')) return 'leads out of the repository';
	if (!existsSync(target)) return 'no such file';
	if (anchor === undefined || statSync(target).isDirectory()) return undefined;
	return !target.endsWith('.md') || anchorsOf(target).has(anchor) ? undefined : 'no such heading';
}

it.each(pages)('every link of %s leads somewhere', (page) => {
	const text = textOf(join(root, page)).replaceAll(/`[^`\n]*`/g, '');
	const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
	const local = links.filter((link) => !/^[a-z]+:/.test(link));
	const problems = local.map((link) => [link, problemOf(page, link)]).filter(([, problem]) => problem !== undefined);
	expect(problems).toEqual([]);
});
