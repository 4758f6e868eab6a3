import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The first of these programs that is on the PATH of an environment, in the order of the PATH; undefined if none is. */
export function findProgram(
	names: readonly string[],
	{ PATH = '' }: Readonly<Record<string, string | undefined>>,
): string | undefined {
	const places = PATH.split(delimiter).filter((place) => place !== '');
	return places.flatMap((place) => names.map((name) => join(place, name))).find(isExecutable);
}

/** True for a file that may be run. */
export function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		// Not there, or not to be run: the next place is tried.
		return false;
	}
}
