import { readFileSync } from 'node:fs';

/** The cases of one vectors file; fails when the file has none, so that no suite can pass by being empty. */
export function loadVectors<T>(name: string): T[] {
	const text = readFileSync(new URL(`../vectors/${name}.ndjson`, import.meta.url), 'utf8');
	const cases = text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line) as T);
	if (cases.length === 0) throw new Error(`no vectors in ${name}.ndjson`);
	return cases;
}
