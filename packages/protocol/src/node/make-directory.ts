import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

const MODE = 0o700;

/**
 * Makes a directory, and those above it that are missing, for this user alone. What is there already is left as it is, and not looked at.
 * Rejects with the system's error. Not by the option `recursive` of Node, which tries again without end, with all of a core, where a
 * directory cannot be made although the one above it exists: below a link that leads nowhere, and in /proc.
 */
export async function makeDirectory(path: string): Promise<void> {
	try {
		await mkdirUnlessThere(path);
	} catch (error) {
		const above = dirname(path);
		if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error;
		await makeDirectory(above);
		await mkdirUnlessThere(path);
	}
}

async function mkdirUnlessThere(path: string): Promise<void> {
	try {
		await mkdir(path, MODE);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
	}
}
