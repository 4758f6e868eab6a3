import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../', import.meta.url));

/** The rows of the tables: what can be done, what cannot, and the tests. */
const rows = readFileSync(join(root, 'docs/reference/threats.md'), 'utf8')
	.split('\n')
	.filter((line) => line.startsWith('| ') && !line.startsWith('| can |'))
	.map((line) => line.slice(2, -2).split(' | '));
/** `file`: the title of a test in it, or with `…` how one title alone begins; the next one begins with a file again. */
const TEST = /`([^`]+\.ts)`: (.+?)(?=; `|$)/g;

describe('docs/reference/threats.md', () => {
	it.each(rows)('%s: its tests are there', (...row) => {
		expect(row).toHaveLength(3);
		const named = [...(row[2] ?? '').matchAll(TEST)];
		expect(named.length).toBeGreaterThan(0);
		for (const [, file = '', name = ''] of named) {
			expect([file, existsSync(join(root, file))]).toEqual([file, true]);
			const titles = titlesOf(readFileSync(join(root, file), 'utf8'));
			if (!name.endsWith('…')) expect(titles).toContain(name);
			else expect(titles.filter((title) => title.startsWith(name.slice(0, -1)))).toHaveLength(1);
		}
	});

	it('names every way in', () => {
		const text = readFileSync(join(root, 'docs/reference/threats.md'), 'utf8');
		const ways = [...text.matchAll(/^## (.+)$/gm)].map(([, way]) => way);
		expect(ways).toEqual([
			...['The unix socket', 'A socket of the node', 'The TCP port', 'The admin port', 'The gRPC port'],
			...['The services file', 'The state directory', 'Consul'],
		]);
	});
});

/** The texts that stand where a test has its title. */
function titlesOf(source: string): string[] {
	return [...source.matchAll(/(['"`])((?:\\.|(?!\1).)*)\1\s*,/g)].map(([, , title = '']) => title.replaceAll('\\', ''));
}
