import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { logLines } from './log-lines.js';

const page = readFileSync(new URL('../docs/reference/log-lines.md', import.meta.url), 'utf8');

it('docs/reference/log-lines.md says what each line of the log means, with its level; and of no line that there is not', () => {
	const [, table = ''] = /<!-- log lines -->\n([\s\S]*?)<!-- end -->/.exec(page) ?? [];
	const rows = [...table.matchAll(/^\| ([a-z, ]+) \| `(.+?)` \| (\S.*) \|$/gm)];
	const documented = rows.map(([, levels, line]) => `| ${levels} | \`${line}\` |`);
	const logged = [...logLines()].map(([line, levels]) => `| ${levels.join(', ')} | \`${line}\` |`);
	expect(documented.toSorted()).toEqual(logged.toSorted());
});

it('a message has at most eight words, and nothing in it varies', () => {
	const messages = [...logLines().keys()];
	expect(messages.filter((message) => message.includes('…') || message.split(/\s+/).length > 8)).toEqual([]);
	expect(messages.length).toBeGreaterThan(50);
});

it('finds the lines of the log: a text, one of two, one of a table, and one of several levels', () => {
	const lines = logLines();
	expect(lines.get('watch recovered')).toEqual(['info']);
	expect(lines.get('enough instances are healthy again')).toEqual(['warn']);
	expect(lines.get('hold ended: the registry has valid entries again')).toEqual(['warn']);
	expect(lines.get('connection closed')).toEqual(['debug', 'warn']);
});
