// The pages that an installed package brings along, in the folder `docs` of @spock/client: what its help, its errors and the READMEs of all
// packages point at opens without this repository. A link to anything else leads to the repository, once release.json names it.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const docs = join(root, 'docs');
const FOLDERS = ['guide', 'integrations', 'reference'];
const PAGES = ['README.md', 'PROTOCOL.md', 'GRPC.md'];

/** The pages, by their paths in `docs`. */
function shippedPages() {
	const below = FOLDERS.flatMap((folder) => readdirSync(join(docs, folder)).map((name) => join(folder, name)));
	return [...PAGES, ...below.filter((name) => name.endsWith('.md'))];
}

const shipped = new Set(shippedPages().map((page) => join(docs, page)));

/** Writes the pages into a folder, in place of what is there. */
export function writeShippedDocs(directory) {
	const pages = new Map([...shippedPages()].map((page) => [join(directory, page), join(docs, page)]));
	const before = existsSync(directory) ? readdirSync(directory, { recursive: true, withFileTypes: true }) : [];
	for (const entry of before) {
		const path = join(entry.parentPath, entry.name);
		if (entry.isFile() && !pages.has(path)) rmSync(path, { force: true });
	}
	for (const [path, page] of pages) {
		// They stand to each other as in the repository.
		const text = withLinks(readFileSync(page, 'utf8'), page, (link) => link);
		// Only what differs, because two commands may do so at once.
		if (existsSync(path) && readFileSync(path, 'utf8') === text) continue;
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, text);
	}
}

/** The README of a package as it stands in the package; `docsAt` is the path from there to the pages. */
export function shippedReadme(path, docsAt) {
	return withLinks(readFileSync(path, 'utf8'), path, (_link, target) => {
		return `${docsAt}/${relative(docs, target).split(sep).join('/')}`;
	});
}

/** The page, where a link to a page that is shipped is what `linkTo` makes of it. */
function withLinks(text, page, linkTo) {
	const { repository } = JSON.parse(readFileSync(join(root, 'release.json'), 'utf8'));
	return text.replaceAll(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (whole, image, words, link) => {
		const [, file = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(link) ?? [];
		if (file === '' || /^[a-z]+:/.test(file)) return whole;
		const target = resolve(dirname(page), file);
		// No link, but code; `npm run check links` finds those that lead nowhere.
		if (!existsSync(target)) return whole;
		if (shipped.has(target)) return `[${words}](${linkTo(file, target)}${anchor})`;
		const inRepository = relative(root, target).split(sep).join('/');
		if (repository !== null) return `${image}[${words}](${repository}/blob/HEAD/${inRepository}${anchor})`;
		return image === '!' ? '' : `${words} (\`${inRepository}\` of the repository)`;
	});
}
