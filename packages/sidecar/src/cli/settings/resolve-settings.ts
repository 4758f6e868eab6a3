import { nearestName } from '@spock/protocol/internal';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import type { Origin, Resolved, Setting, Settings, Value } from './setting.ts';
import { settings } from './settings.ts';

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
export function resolveSettings({ flags, env, file }: SettingSources): Settings {
	for (const name of Object.keys(file?.values ?? {})) {
		if (!settings.some((setting) => setting.name === name)) {
			const known = settings.map((setting) => setting.name);
			const meant = nearestName(name, known);
			const hint = meant === undefined ? `known are ${known.join(', ')}` : `did you mean ${meant}?`;
			throw new CommandError(EXIT.usage, `${file?.name}: there is no setting ${name}; ${hint}`);
		}
	}
	return new Map(settings.map((setting) => [setting.name, resolve(setting, { flags, env, ...(file && { file }) })]));
}

function resolve(setting: Setting, { flags, env, file }: SettingSources): Resolved {
	const fromFlag = flags[setting.name];
	if (fromFlag !== undefined)
		return read(setting, fromFlag, 'flag', (setting.flag ?? setting.name).split(' ')[0] as string);
	const fromEnv = env[setting.env];
	if (fromEnv !== undefined && fromEnv !== '') return read(setting, fromEnv, 'environment', setting.env);
	const fromFile = file?.values[setting.name];
	if (fromFile !== undefined && fromFile !== null) {
		return read(setting, fromFile, 'config file', `${setting.name} in ${file?.name}`);
	}
	return { setting, value: undefined, origin: 'default', where: 'the default' };
}

function read(setting: Setting, raw: unknown, origin: Origin, where: string): Resolved {
	const wrong = (expected: string): CommandError => {
		const shown = setting.isSecret ? '(hidden)' : JSON.stringify(raw);
		return new CommandError(EXIT.usage, `${where} must be ${expected}, not ${shown}`);
	};
	const resolved = (value: Value): Resolved => ({ setting, value, origin, where });
	const { kind } = setting;
	if (kind === 'integer') {
		const value = typeof raw === 'string' && /^\d+$/.test(raw) ? Number(raw) : raw;
		if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw wrong('a whole number');
		return resolved(value);
	}
	if (kind === 'fraction') {
		const value = typeof raw === 'string' && /^[\d.]+$/.test(raw) ? Number(raw) : raw;
		if (typeof value !== 'number' || !(value >= 0 && value <= 1)) throw wrong('a number from 0 to 1');
		return resolved(value);
	}
	if (kind === 'boolean') {
		if (raw === true || raw === 'true' || raw === '1') return resolved(true);
		if (raw === false || raw === 'false' || raw === '0') return resolved(false);
		throw wrong('true or false');
	}
	if (kind === 'mode') {
		const text = typeof raw === 'number' ? raw.toString(8) : raw;
		if (typeof text !== 'string' || !/^0?[0-7]{3}$/.test(text)) throw wrong('three octal digits, as in 0660');
		return resolved(Number.parseInt(text, 8));
	}
	if (kind === 'list') {
		const list = typeof raw === 'string' ? raw.split(',').map((item) => item.trim()) : raw;
		if (!Array.isArray(list) || !list.every((item) => typeof item === 'string' && item !== '')) throw wrong('a list');
		return resolved(list as string[]);
	}
	if (typeof raw !== 'string' || raw === '') throw wrong('a text');
	if (typeof kind !== 'string' && !kind.includes(raw)) throw wrong(`one of ${kind.join(', ')}`);
	return resolved(raw);
}

/** The settings in force and where each came from, as `--print-config` shows them; secrets are hidden. */
export function describeSettings(resolved: Settings): string {
	const rows = [...resolved.values()].map(({ setting, value, origin, where }) => {
		const shown = value === undefined ? setting.fallback : setting.isSecret ? '(hidden)' : showValue(setting, value);
		return [setting.name, shown, origin === 'default' ? 'default' : `${origin}: ${where}`] as const;
	});
	const width = (column: 0 | 1): number => Math.max(...rows.map((row) => row[column].length));
	const [first, second] = [width(0), Math.min(48, width(1))];
	return rows.map(([name, value, from]) => `${name.padEnd(first)}  ${value.padEnd(second)}  ${from}`).join('\n');
}

function showValue(setting: Setting, value: Value): string {
	if (setting.kind === 'mode') return `0${(value as number).toString(8)}`;
	return Array.isArray(value) ? value.join(',') : String(value);
}

/** The same for programs. */
export function settingsAsJson(resolved: Settings): Record<string, unknown> {
	return Object.fromEntries(
		[...resolved].map(([name, { setting, value, origin, where }]) => [
			name,
			{
				value:
					value === undefined
						? null
						: setting.isSecret
							? '(hidden)'
							: setting.kind === 'mode'
								? showValue(setting, value)
								: value,
				origin,
				...(origin !== 'default' && { where }),
				default: setting.fallback,
			},
		]),
	);
}

/** Told of at most; one that is wrong is seldom alone, and a pod may have many of somebody else's. */
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

/** The `SPOCK_…` variables that nobody reads, sorted: one that is misspelt would do nothing, in silence. */
export function unknownVariables(env: Readonly<Record<string, string | undefined>>): UnknownVariable[] {
	const known = [...settings.map((setting) => setting.env), ...OTHERS];
	return Object.keys(env)
		.filter((name) => name.startsWith('SPOCK_') && !known.includes(name) && !isServiceLink(name, env[name]))
		.sort()
		.slice(0, UNKNOWN_VARIABLES_MAX)
		.map((variable) => ({ variable, meant: nearestName(variable, known) }));
}

function isServiceLink(name: string, value: string | undefined): boolean {
	return SERVICE_LINK.test(name) || (name.endsWith('_PORT') && SERVICE_URL.test(value ?? ''));
}
