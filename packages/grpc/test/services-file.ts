import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { ServicesFileInstance } from '@spock/discovery';

/** A registry that a test edits: a services file in a directory of its own. */
export interface ServicesFile extends AsyncDisposable {
	readonly path: string;
	/** Replaces everything that it says. */
	set(services: Readonly<Record<string, readonly ServicesFileInstance[]>>): Promise<void>;
}

export async function makeServicesFile(): Promise<ServicesFile> {
	const directory = await mkdtemp(join(tmpdir(), 'spock-grpc-'));
	const path = join(directory, 'services.json');
	const file: ServicesFile = {
		path,
		set: async (services) => {
			await writeFile(`${path}.new`, JSON.stringify({ services }));
			await rename(`${path}.new`, path);
		},
		[Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
	};
	await file.set({});
	return file;
}
