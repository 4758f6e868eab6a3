import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

const PAGES = ['../../docs/guide/kubernetes-in-ten-minutes.md', '../../k8s/README.md'];

/** The programs that the commands of a page run, out of its blocks of `sh`. */
function programsOf(page: string): string[] {
	const blocks = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, code = '']) => code);
	const lines = blocks.join('').replaceAll('\\\n', ' ').split('\n');
	const commands = lines
		.map((line) => line.replace(/(^|\s)#.*$/, '').replaceAll(/'[^']*'/g, "''"))
		.flatMap((line) => line.split(/&&|\|\||[|;]|\$\(/));
	return [...new Set(commands.map((command) => command.trim().split(/[\s)]/)[0] ?? '').filter((word) => word !== ''))];
}

/** What it says under its heading, before the first command: there every program is in code. */
function named(page: string): string {
	return page.slice(0, page.indexOf('```'));
}

describe.each(PAGES)('%s', (path) => {
	const page = readFileSync(new URL(path, import.meta.url), 'utf8');

	it('names every program that its commands run', () => {
		const programs = programsOf(page);
		expect(programs).toContain('kubectl');
		for (const program of programs) expect(named(page), program).toContain(`\`${program}\``);
	});
});

it('the page has the rules for a token that docs/guide/consul.md has, with keys', () => {
	const [page, consul] = [PAGES[0] ?? '', '../../docs/guide/consul.md'].map((path) => {
		const text = readFileSync(new URL(path, import.meta.url), 'utf8');
		return /^```hcl\n(.*?)^```/ms.exec(text)?.[1];
	});
	expect(page).toBe(consul);
	expect(page).toContain('key_prefix');
});

it('a program in a pipe, a substitution or a second command is seen', () => {
	const page = '```sh\n(cd k8s && kustomize edit) # jq\nx "$(consul acl | jq -r .a)" \\\n  y | base64 -d\n```\n';
	expect(programsOf(page)).toEqual(['(cd', 'kustomize', 'x', 'consul', 'jq', 'base64']);
});
