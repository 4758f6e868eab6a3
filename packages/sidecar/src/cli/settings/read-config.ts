import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

import { parse } from 'yaml';

import { CommandError, EXIT } from '../output/output.ts';

/**
 * The settings of a config file, JSON or YAML. Throws a CommandError that names it. A module of its own, so that only a start
 * with a file loads the parser.
 */
export function readConfig(file: string): Readonly<Record<string, unknown>> {
	let values: unknown;
	try {
		values = parse(readText(file));
	} catch (error) {
		throw new CommandError(EXIT.usage, `the config file ${file} cannot be read: ${(error as Error).message}`, {
			cause: error,
		});
	}
	if (typeof values !== 'object' || values === null || Array.isArray(values)) {
		throw new CommandError(EXIT.usage, `the config file ${file} must be an object of settings`);
	}
	return values as Record<string, unknown>;
}

function readText(file: string): string {
	// A FIFO without a writer would block the start for ever.
	const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		if (!fstatSync(descriptor).isFile()) throw new Error('it is not a regular file');
		return readFileSync(descriptor, 'utf8');
	} finally {
		closeSync(descriptor);
	}
}
