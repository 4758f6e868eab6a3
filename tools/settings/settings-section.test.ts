import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { consulOptionsFromEnvironment } from '../../packages/discovery/src/backends/consul/consul-backend-options.ts';
import { parserOf, showValue } from '../../packages/sidecar/src/cli/settings/setting.ts';
import { settings } from '../../packages/sidecar/src/cli/settings/settings.ts';
import { CONSUL_VARIABLES } from '../../packages/sidecar/src/cli/settings/source-settings.ts';
import { limitTable } from '../../packages/sidecar/src/foundation/limits.ts';
import { settingsSection } from './settings-section.ts';

const root = join(import.meta.dirname, '../..');
const section = settingsSection(root);

describe('the settings in docs/reference/settings.md', () => {
	it('are what the code says; otherwise run `npm run tables settings`', () => {
		const page = readFileSync(join(root, 'docs/reference/settings.md'), 'utf8');
		expect(page).toContain(`<!-- settings -->\n\n${section}\n\n<!-- end -->`);
	});

	it('are each there once', () => {
		expect(new Set(settings.map(({ name }) => name)).size).toBe(settings.length);
		expect(settings.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(limitTable)));
	});

	it('have defaults that their own parsers take', () => {
		for (const setting of settings) {
			const { name, default: value } = setting;
			if (value !== undefined)
				expect([name, parserOf(setting).parse(showValue(setting, value))]).toEqual([name, value]);
		}
	});

	it('have every variable of Consul that is read', () => {
		const read = new Set<string>();
		const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void read.add(String(name)) });
		consulOptionsFromEnvironment(env);
		const withFlag = settings.map(({ variable }) => variable).filter((name) => name.startsWith('CONSUL_'));
		expect([...read].toSorted()).toEqual([...withFlag, ...Object.keys(CONSUL_VARIABLES)].toSorted());
	});

	it('have every variable that any source names, and every flag of the command that is for people', () => {
		const flags = readFileSync(join(root, 'packages/sidecar/src/cli/main.ts'), 'utf8');
		const [, shared = ''] = /function targetCommand\(([\s\S]*?)\n\}\n[\s\S]*?\n\}/.exec(flags) ?? [];
		const names = [...shared.matchAll(/'--[a-z-]+/g)].map(([flag]) => flag.slice(1));
		expect(names.length).toBeGreaterThan(5);
		for (const name of names) expect(section).toMatch(new RegExp(`\`${name}[ \`]`));
		for (const file of sources()) {
			for (const [name] of readFileSync(file, 'utf8').matchAll(/\bSPOCK_[A-Z_]*[A-Z]\b/g)) {
				expect(section, `${name} of ${file}`).toContain(`\`${name}\``);
			}
		}
	});

	it('tell the defaults of the client as its docstrings do', () => {
		const rows = [...section.matchAll(/^\| `\w+` \| (\d+) \| (.*) \|$/gm)];
		expect(rows.length).toBeGreaterThan(10);
		for (const [row, value, meaning = ''] of rows) {
			const told = /Default (\d+)( MiB)?/.exec(meaning);
			expect(Number(told?.[1]) * (told?.[2] === undefined ? 1 : 1024 * 1024), row).toBe(Number(value));
		}
	});

	it('tell the defaults of the limits as the docstrings of the library do', () => {
		const source = readFileSync(join(root, 'packages/sidecar/src/foundation/limits.ts'), 'utf8');
		for (const [name, { default: value }] of Object.entries(limitTable)) {
			const [, doc = ''] = new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s+readonly ${name}\\?:`).exec(source) ?? [];
			const told = /Default (\d+)( MiB)?/.exec(doc);
			expect([name, Number(told?.[1]) * (told?.[2] === undefined ? 1 : 1024 * 1024)]).toEqual([name, value]);
		}
	});
});

/** The source files of what people run. */
function sources(): string[] {
	return ['client', 'protocol', 'discovery', 'sidecar'].flatMap((name) => {
		const directory = join(root, 'packages', name, 'src');
		const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
		return files.filter((file) => /(?<!test)\.ts$/.test(file)).map((file) => join(directory, file));
	});
}
