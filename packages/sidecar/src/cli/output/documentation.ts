import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { DOCUMENTATION } from '@spock/protocol/internal';

/** The package that has the pages beside its programs. */
const PACKAGE = '@spock/client';

/** Where a page of the documentation can be opened, such as `reference/errors.md`: at its address, or as a file from here. */
export function documentationPage(page: string): string {
	if (DOCUMENTATION.startsWith('https:')) return `${DOCUMENTATION}/${page}`;
	const directory = installedDocs();
	// In an image, which has no packages.
	if (directory === undefined) return `docs/${page} of ${PACKAGE}`;
	const path = join(directory, page);
	const near = relative(process.cwd(), path);
	return near.startsWith('..') ? path : near;
}

/** Where the section about an error can be opened; `help` is that of the error. */
export function errorPage(help: string): string {
	return help.startsWith(`${DOCUMENTATION}/`) ? documentationPage(help.slice(DOCUMENTATION.length + 1)) : help;
}

/** The text, where each page that it names, such as docs/GRPC.md, is one that can be opened. */
export function withDocumentation(text: string): string {
	return text.replaceAll(/\bdocs\/([\w./-]+\.md)/g, (_, page: string) => documentationPage(page));
}

function installedDocs(): string | undefined {
	// Loaded when it is needed: probes start this program every second.
	const { createRequire } = process.getBuiltinModule('node:module');
	try {
		const manifest = createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`);
		const directory = join(dirname(realpathSync(manifest)), 'docs');
		return existsSync(directory) ? directory : undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
		throw error;
	}
}
