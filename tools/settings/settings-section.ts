import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { resolveOptions } from '../../packages/client/src/foundation/options.ts';
import { parserOf } from '../../packages/sidecar/src/cli/settings/setting.ts';
import { type NamedSetting, settingAreas } from '../../packages/sidecar/src/cli/settings/settings.ts';
import { CONSUL_VARIABLES } from '../../packages/sidecar/src/cli/settings/source-settings.ts';

/** Flags of `sidecar start` that are no settings. */
const START_FLAGS: readonly (readonly [flag: string, variable: string, meaning: string])[] = [
	['--config FILE', 'SPOCK_CONFIG', 'settings in JSON or YAML; there `--grace-ms` is `graceMs`, and so on'],
	['--print-config', '', 'shows the settings in force and where each comes from, then ends'],
	['--json', '', 'with `--print-config`: as JSON'],
];

/** Flags of the commands that talk to a sidecar. */
const COMMAND_FLAGS: readonly (readonly [flag: string, variable: string, meaning: string])[] = [
	['--socket PATH', 'SPOCK_SOCKET', 'socket of the sidecar; default `/uds/sidecar.sock` in a pod, else per user'],
	['--connect ADDRESS', '', '`HOST:PORT` or `tls://HOST:PORT`, in place of the socket'],
	['--token-file FILE', 'SPOCK_TOKEN_FILE', 'file with the token that the sidecar requires'],
	['', 'SPOCK_TOKEN', 'that token itself; the file wins'],
	['--tls-ca FILE', 'SPOCK_CONNECT_CA', 'authorities to trust for `tls://`, in PEM'],
	['--tls-cert FILE', 'SPOCK_CONNECT_CERT', 'certificate of this client, in PEM'],
	['--tls-key FILE', 'SPOCK_CONNECT_KEY', 'private key of that certificate, in PEM'],
	['--timeout DURATION', '', 'how long to wait for an answer; default 5s'],
	['--json', '', 'data as JSON'],
];

/** Flags of `sidecar typegen` alone. */
const TYPEGEN_FLAGS: readonly (readonly [flag: string, variable: string, meaning: string])[] = [
	['--services FILE', '', 'a services file in JSON or YAML, in place of a sidecar'],
	['--out FILE', '', 'the module to write; default stdout'],
	['--check', '', 'writes nothing; exits with 1 if the module is out of date'],
];

/** The tables of docs/reference/settings.md, as Markdown. `root` is the directory of the repository. */
export function settingsSection(root: string): string {
	const parts = settingAreas.map(([heading, group]) => part(heading, settingsTable(group)));
	const consul = Object.entries(CONSUL_VARIABLES).map(([name, meaning]) => [code(name), meaning]);
	return [
		...parts,
		part("Consul's variables without a flag", table(['variable', 'meaning'], consul)),
		part('Flags of `start` that are no settings', flagsTable(START_FLAGS)),
		part('Flags of the commands that ask a sidecar', flagsTable(COMMAND_FLAGS)),
		part('Flags of `typegen`, besides those', flagsTable(TYPEGEN_FLAGS)),
		part('Options of the client', table(['option', 'default', 'meaning'], clientOptions(root))),
	].join('\n\n');
}

function part(heading: string, text: string): string {
	return `## ${heading}\n\n${text}`;
}

function settingsTable(group: readonly NamedSetting[]): string {
	const rows = group.map((setting) => {
		const { name, kind, flag, unit = '', variable } = setting;
		const shownFlag = flag === undefined ? `none (secret); ${code(name)} in the file` : code(flag.replace(/ .*/, ''));
		// What may be given: the unit, the words to choose from, or the kind.
		const value = kind === 'integer' ? unit : parserOf(setting).title;
		return [shownFlag, code(variable), value, cell(setting.defaultText), cell(setting.help)];
	});
	return table(['flag', 'variable', 'value', 'default', 'meaning'], rows);
}

function flagsTable(flags: readonly (readonly [string, string, string])[]): string {
	const rows = flags.map(([flag, variable, meaning]) => [code(flag), code(variable), meaning]);
	return table(['flag', 'variable', 'meaning'], rows);
}

/** Name, default and docstring of every option, from the source of their interface. */
function clientOptions(root: string): string[][] {
	const source = readFileSync(join(root, 'packages/client/src/foundation/options.ts'), 'utf8');
	const [, body = ''] = /export interface DiplomatOptions \{\n([\s\S]*?)\n\}/.exec(source) ?? [];
	const defaults = new Map<string, unknown>(Object.entries(resolveOptions({ path: '/' })));
	return [...body.matchAll(/\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s+readonly (\w+)\?:/g)].map(([, doc = '', name = '']) => {
		const value = defaults.get(name);
		const isPlain = ['number', 'boolean', 'string'].includes(typeof value);
		const meaning = doc.replaceAll(/\s*\n\s*\* ?/g, ' ').trim();
		return [code(name), isPlain ? String(value) : '–', cell(meaning)];
	});
}

function code(text: string): string {
	return text === '' ? '' : `\`${text}\``;
}

/** A bar would end the cell. */
function cell(text: string): string {
	return text.replaceAll('|', '\\|');
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
	return [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
