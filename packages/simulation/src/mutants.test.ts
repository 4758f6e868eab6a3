import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { MUTANTS } from './mutants.ts';

it.each(MUTANTS)('stands exactly once in its source: $name', ({ file, find, replace }) => {
	const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
	expect(source.split(find).length - 1).toBe(1);
	expect(replace).not.toBe(find);
});
