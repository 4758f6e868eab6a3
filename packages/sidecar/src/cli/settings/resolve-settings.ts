import { nameHint, nearestName } from '@spock/protocol/internal';

import { CommandError, EXIT } from '../output/output.ts';
import { parserOf, showValue, type Value } from './setting.ts';
import { type NamedSetting, type Origin, type Resolved, type Settings, settings } from './settings.ts';

/** What settings are resolved from; all given. */
export interface SettingSources {
	/** By setting name, as commander gives them. */
	readonly flags: Readonly<Record<string, unknown>>;
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly file?: { readonly name: string; readonly values: Readonly<Record<string, unknown>> };
}

/**
 * Flag over environment over config file over default, for every setting. Throws a CommandError that names the setting, its
 * value and where it came from.
 */
export function resolveSettings(sources: SettingSources): Settings {
	const { file } = sources;
	for (const name of Object.keys(file?.values ?? {})) {
		if (!settings.some((setting) => setting.name === name)) {
			const known = settings.map((setting) => setting.name);
			throw new CommandError(EXIT.usage, `${file?.name}: unknown setting ${name}; ${nameHint(name, known)}`);
		}
	}
	// Each value was read by the parser of its own setting.
	return Object.fromEntries(settings.map((setting) => [setting.name, resolve(setting, sources)])) as Settings;
}

function resolve(setting: NamedSetting, { flags, env, file }: SettingSources): Resolved<Value | undefined> {
	const { name, flag = name, variable } = setting;
	const fromFlag = flags[name];
	if (fromFlag !== undefined) return read(setting, fromFlag, 'flag', flag.replace(/ .*/, ''));
	const fromEnv = env[variable];
	if (fromEnv !== undefined && fromEnv !== '') return read(setting, fromEnv, 'environment', variable);
	const fromFile = file?.values[name];
	if (fromFile !== undefined && fromFile !== null) {
		return read(setting, fromFile, 'config file', `${name} in ${file?.name}`);
	}
	return { value: setting.default, origin: 'default', where: 'the default' };
}

function read(setting: NamedSetting, raw: unknown, origin: Origin, where: string): Resolved<Value> {
	const { expected, parse } = parserOf(setting);
	const value = parse(raw);
	if (value !== undefined) return { value, origin, where };
	const shown = setting.isSecret ? '(hidden)' : JSON.stringify(raw);
	throw new CommandError(EXIT.usage, `${where} must be ${expected}, not ${shown}`);
}

/** The settings in force and where each came from, as `--print-config` shows them; secrets are hidden. */
export function describeSettings(resolved: Settings): string {
	const rows = settings.map((setting) => {
		const { value, origin, where } = resolved[setting.name];
		if (origin === 'default' || value === undefined) return [setting.name, setting.defaultText, 'default'] as const;
		const shown = setting.isSecret ? '(hidden)' : showValue(setting, value);
		return [setting.name, shown, `${origin}: ${where}`] as const;
	});
	const width = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length));
	const [first, second] = [width(0), Math.min(48, width(1))];
	return rows.map(([name, value, from]) => `${name.padEnd(first)}  ${value.padEnd(second)}  ${from}`).join('\n');
}

/** The same for programs; `value` is null where nothing is given. */
export function settingsAsJson(resolved: Settings): Record<string, unknown> {
	const rows = settings.map((setting) => {
		const { value, origin, where } = resolved[setting.name];
		const byDefault = { default: setting.defaultText };
		if (origin === 'default' || value === undefined) return [setting.name, { value: null, origin, ...byDefault }];
		const shown = setting.isSecret ? '(hidden)' : setting.kind === 'mode' ? showValue(setting, value) : value;
		return [setting.name, { value: shown, origin, where, ...byDefault }];
	});
	return Object.fromEntries(rows);
}

/** Most unknown variables that are reported; a pod may have many of another program's. */
export const UNKNOWN_VARIABLES_MAX = 10;

/** Variables that are no settings of `start`: of the command itself, of the commands that ask, and of clients in the same pod. */
const OTHERS: readonly string[] = [
	'SPOCK_CONFIG',
	'SPOCK_CONNECT_CA',
	'SPOCK_CONNECT_CERT',
	'SPOCK_CONNECT_KEY',
	'SPOCK_TOKEN',
	'SPOCK_TOKEN_FILE',
];

/** Kubernetes gives each container the address of every Service in such variables, and a Service may be called spock. */
const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/;
const SERVICE_URL = /^(?:tcp|udp|sctp):\/\//;

/** A variable that looks like a setting and is none. */
export interface UnknownVariable {
	readonly variable: string;
	/** The setting that was most likely meant. */
	readonly meant: string | undefined;
}

/** The `SPOCK_…` variables that nothing reads, sorted: a misspelt one would silently do nothing. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
	const known = [...settings.map(({ variable }) => variable), ...OTHERS];
	return Object.keys(env)
		.filter((name) => name.startsWith('SPOCK_') && !known.includes(name) && !isServiceLink(name, env[name]))
		.sort()
		.slice(0, UNKNOWN_VARIABLES_MAX)
		.map((variable) => ({ variable, meant: nearestName(variable, known) }));
}

function isServiceLink(name: string, value: string | undefined): boolean {
	return SERVICE_LINK.test(name) || (name.endsWith('_PORT') && SERVICE_URL.test(value ?? ''));
}
