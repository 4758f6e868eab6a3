import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseAllDocuments } from 'yaml';

import type { Manifest } from './static-pod.ts';

/** The directory with a file of YAML for each overlay of k8s/, from `npm run suite kubelet` and `npm run suite apiserver`. */
export function renderedDirectory(env: Readonly<Record<string, string | undefined>>): string {
	const directory = env['SPOCK_RENDERED'];
	if (!directory)
		throw new Error('run this by `npm run suite kubelet` or `npm run suite apiserver`, which render the manifests');
	return directory;
}

/** The documents of one rendered overlay. */
export function readRendered(directory: string, overlay: string): readonly Manifest[] {
	return parseManifests(readFileSync(join(directory, `${overlay}.yaml`), 'utf8'));
}

/** All documents of a text. Throws an Error with what is wrong with it. */
export function parseManifests(text: string): readonly Manifest[] {
	return parseAllDocuments(text).map((document) => {
		const [error] = document.errors;
		if (error !== undefined) throw error;
		return document.toJS() as Manifest;
	});
}
