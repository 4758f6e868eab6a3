import { nearestName } from '@spock/protocol/internal';

import { CommandError, EXIT } from '../output/exit-codes.ts';
import type { Origin, Resolved, Setting, Value } from './setting.ts';
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
export function resolveSettings({ flags, env, file }: SettingSources): ReadonlyMap<string, Resolved> {
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
export function describeSettings(resolved: ReadonlyMap<string, Resolved>): string {
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
export function settingsAsJson(resolved: ReadonlyMap<string, Resolved>): Record<string, unknown> {
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
