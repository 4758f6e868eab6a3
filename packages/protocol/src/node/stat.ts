import { type BigIntStats, lstatSync, statSync } from 'node:fs';

/*
 * The one place of the packages that asks about a file synchronously (biome.json refuses others). Always with `bigint`: without it
 * Node writes the answer into an array that `realpathSync`, and with it the loader of modules, takes for its own, and stops
 * resolving symbolic links when that answer was a socket. A package of pnpm that an app loads later is then not found
 * (https://github.com/nodejs/node/issues/51142; Node 20 and 22).
 */

/** What is at a path, at the end of its symbolic links; undefined if nothing is. Throws as `statSync` does otherwise. */
export function statOf(path: string): BigIntStats | undefined {
	return asked(path, () => statSync(path, { bigint: true, throwIfNoEntry: false }));
}

/** As {@link statOf}, and a symbolic link is what is at the path. */
export function lstatOf(path: string): BigIntStats | undefined {
	return asked(path, () => lstatSync(path, { bigint: true, throwIfNoEntry: false }));
}

/** The code of an error of Node's permission model (https://nodejs.org/api/permissions.html). */
export const DENIED_BY_NODE = 'ERR_ACCESS_DENIED';

/** Node itself does not name the path that it denies. */
function asked<T>(path: string, ask: () => T): T {
	try {
		return ask();
	} catch (cause) {
		if ((cause as NodeJS.ErrnoException).code !== DENIED_BY_NODE) throw cause;
		const message = `Node's permission model does not let this process look at ${path}: start it with --allow-fs-read=${path}`;
		throw Object.assign(new Error(message, { cause }), { code: DENIED_BY_NODE, syscall: 'stat', path });
	}
}
