import { nearestName } from '@spock/protocol/internal';

import { CommandError, EXIT } from '../output/output.ts';
import { parserOf, type Value } from './setting.ts';
import {
	type NamedSetting,
	type Origin,
	type Resolved,
	type SettingName,
	type Settings,
	settings,
} from './settings.ts';

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
	refuseUnknown(sources.file);
	// Each value was read by the parser of its own setting.
	return Object.fromEntries(settings.map((setting) => [setting.name, resolve(setting, sources)])) as Settings;
}

/** Unknown settings of a config file that a message names; a file of another program may have many. */
const UNKNOWN_SETTINGS_MAX = 5;

/** Throws a CommandError for settings of a config file that are none, with what was most likely meant by each. */
function refuseUnknown(file: SettingSources['file']): void {
	const known = new Set<string>(settings.map(({ name }) => name));
	const unknown = Object.keys(file?.values ?? {}).filter((name) => !known.has(name));
	if (file === undefined || unknown.length === 0) return;
	const meant = unknown.slice(0, UNKNOWN_SETTINGS_MAX).map((name) => [name, meantSetting(name)] as const);
	const named = meant.map(([name, other]) => `${name}${other === undefined ? '' : ` (did you mean ${other}?)`}`);
	const more = unknown.length > named.length ? `, and ${unknown.length - named.length} more` : '';
	const hint = meant.some(([, other]) => other === undefined) ? '; `start --help` lists all settings' : '';
	const plural = unknown.length === 1 ? '' : 's';
	throw new CommandError(EXIT.usage, `${file.name}: unknown setting${plural} ${named.join(', ')}${more}${hint}`);
}

/** The setting that a name is most likely for: it may be written as its flag or variable is, or be misspelt. */
function meantSetting(name: string): SettingName | undefined {
	const letters = (text: string): string => text.replace(/[^a-zA-Z0-9]/g, '').toLowerCase();
	const wanted = letters(name);
	const other = settings.find((setting) => [setting.name, setting.variable].some((text) => letters(text) === wanted));
	return (
		other?.name ??
		(nearestName(
			name,
			settings.map((setting) => setting.name),
		) as SettingName | undefined)
	);
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
	const { expected, parse, fault } = parserOf(setting);
	// `echo`, files and secrets of Kubernetes end a line that no credential has.
	const value = parse(setting.isSecret && typeof raw === 'string' ? raw.trim() : raw);
	if (value !== undefined) return { value, origin, where };
	const shown = setting.isSecret ? '(hidden)' : JSON.stringify(raw);
	throw new CommandError(EXIT.usage, `${where} must be ${expected}, not ${shown}${fault?.(raw) ?? ''}`);
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
