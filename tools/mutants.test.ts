import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

// A tool is JavaScript, which the compiler does not read.
const list: string = new URL('./mutants-list.js', import.meta.url).href;
const { failures, failuresTable, faultsOfList } = (await import(list)) as {
	readonly failures: readonly { readonly area: string }[];
	failuresTable(): string;
	faultsOfList(): readonly string[];
};

describe('the list of mends and their tests', () => {
	it('names sources and tests as they are', () => {
		expect(faultsOfList()).toEqual([]);
	});

	it('has every area', () => {
		const areas = new Set(failures.map(({ area }) => area));
		const invariants = [1, 2, 3, 4, 5, 6, 7].map((number) => `Invariant ${number}`);
		expect([...areas]).toEqual(['Client', 'Sidecar', 'Consul', 'Pod', ...invariants]);
	});

	it('stands in docs/TESTING.md as it is: `node tools/mutants-list.js` writes it', () => {
		const page = readFileSync(new URL('../docs/TESTING.md', import.meta.url), 'utf8');
		expect(page).toContain(`<!-- failures -->\n\n${failuresTable()}\n\n<!-- end -->`);
	});
});
