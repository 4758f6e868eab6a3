import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

// A tool is JavaScript, which the compiler does not read.
const list: string = new URL('./fuzz-mutations.js', import.meta.url).href;
const { mutations } = (await import(list)) as {
	readonly mutations: readonly {
		readonly name: string;
		readonly file: string;
		readonly from: string;
		readonly to: string;
	}[];
};

it.each(mutations)('stands exactly once in its source: $name', ({ file, from, to }) => {
	const source = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
	expect(source.split(from).length - 1).toBe(1);
	expect(to).not.toBe(from);
});
