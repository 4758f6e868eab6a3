import { type BigIntStats, lstatSync, statSync } from 'node:fs';

/*
 * The one place of the packages that asks about a file synchronously (biome.json refuses others). Always with `bigint`: without it
 * Node writes the answer into an array that `realpathSync`, and with it the loader of modules, takes for its own, and stops
 * resolving symbolic links when that answer was a socket. A package of pnpm that an app loads later is then not found
 * (https://github.com/nodejs/node/issues/51142; Node 20 and 22).
 */

/** What is at a path, at the end of its symbolic links; undefined if nothing is. Throws as `statSync` does otherwise. */
export function statOf(path: string): BigIntStats | undefined {
	return statSync(path, { bigint: true, throwIfNoEntry: false });
}

/** As {@link statOf}, and a symbolic link is what is at the path. */
export function lstatOf(path: string): BigIntStats | undefined {
	return lstatSync(path, { bigint: true, throwIfNoEntry: false });
}
