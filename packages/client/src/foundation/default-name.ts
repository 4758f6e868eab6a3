import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { isText } from '@spock/protocol/internal';

import { CLIENT_VERSION } from './version.ts';

/** Longest name, in characters: that of a package, which npm allows 214. */
export const NAME_LENGTH_MAX = 214;

let found: string | undefined;

/**
 * The default name of a client: that of the package that the main module of the process belongs to. Looked up once; the name of
 * this library where no package is found.
 */
export function defaultName(main: string | undefined = process.argv[1]): string {
	if (main !== process.argv[1]) return packageOf(main) ?? CLIENT_VERSION;
	found ??= packageOf(main) ?? CLIENT_VERSION;
	return found;
}

function packageOf(main: string | undefined): string | undefined {
	if (main === undefined) return undefined;
	let directory: string;
	try {
		directory = dirname(realpathSync(main));
	} catch {
		return undefined;
	}
	for (;;) {
		const name = nameIn(join(directory, 'package.json'));
		if (name !== undefined) return name;
		const parent = dirname(directory);
		if (parent === directory) return undefined;
		directory = parent;
	}
}

/** A package.json without a name only sets the type of its modules. */
function nameIn(file: string): string | undefined {
	try {
		const { name } = JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown };
		return isText(name, NAME_LENGTH_MAX) ? name : undefined;
	} catch {
		return undefined;
	}
}
