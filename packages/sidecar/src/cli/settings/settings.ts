import { type Limit, limitTable, type NumericLimit } from '../../foundation/limits.ts';
import { CommandError, EXIT } from '../output/output.ts';
import { answerSettings, registrationSettings } from './answer-settings.ts';
import { eventsSettings } from './events-settings.ts';
import { listenSettings, reportingSettings, takeOverSettings } from './listen-settings.ts';
import { defaultText, type Setting, showDuration, type ValueOf } from './setting.ts';
import { consulSettings, dnsSettings, sourceSettings, upstreamSettings } from './source-settings.ts';

/** At a terminal a person has pressed Ctrl-C and waits. */
export const TERMINAL_LIMITS: Readonly<Record<'graceMs' | 'drainTimeoutMs', number>> = {
	graceMs: 0,
	drainTimeoutMs: 2000,
};

const { graceMs: _grace, drainTimeoutMs: _drain, ...clientLimits } = limitTable;
const atTerminal = (name: keyof typeof TERMINAL_LIMITS): Limit & Setting => ({
	...limitTable[name],
	note: `; ${showDuration(TERMINAL_LIMITS[name])} on a terminal`,
});

const areas: readonly (readonly [heading: string, settings: Readonly<Record<string, Setting>>])[] = [
	['Where services come from', sourceSettings],
	['Another sidecar', upstreamSettings],
	['Consul', consulSettings],
	['DNS', dnsSettings],
	['The answers that are kept', answerSettings],
	['What apps register', registrationSettings],
	['Events', eventsSettings],
	['Where it listens, and for whom', listenSettings],
	[
		'Limits on clients',
		{
			...clientLimits,
			connectionsMax: { ...limitTable.connectionsMax, note: ', less where the process may open fewer files' },
		},
	],
	[
		'End and take-over',
		{ graceMs: atTerminal('graceMs'), drainTimeoutMs: atTerminal('drainTimeoutMs'), ...takeOverSettings },
	],
	['Logs and the admin port', reportingSettings],
];

/** Every setting by name, as it is described. */
export type SettingTable = typeof sourceSettings &
	typeof upstreamSettings &
	typeof consulSettings &
	typeof dnsSettings &
	typeof answerSettings &
	typeof registrationSettings &
	typeof eventsSettings &
	typeof listenSettings &
	typeof takeOverSettings &
	typeof reportingSettings &
	Readonly<Record<NumericLimit, Limit>>;

export type SettingName = keyof SettingTable;

/** Where a value came from. */
export type Origin = 'flag' | 'environment' | 'config file' | 'default';

/** One setting in force. */
export interface Resolved<T> {
	readonly value: T;
	readonly origin: Origin;
	/** For messages: `--socket`, `SPOCK_SOCKET`, `socket in spock.yaml`. */
	readonly where: string;
}

/** Every setting in force, by name. */
export type Settings = { readonly [N in SettingName]: Resolved<ValueOf<SettingTable[N]>> };

/** A setting with what follows from its name. */
export interface NamedSetting extends Setting {
	readonly name: SettingName;
	/** For commander: `--socket <path>`; none for a secret. */
	readonly flag: string | undefined;
	readonly variable: string;
	/** For people. */
	readonly defaultText: string;
}

/** Every setting of `sidecar start`, by area. */
export const settingAreas: readonly (readonly [heading: string, settings: readonly NamedSetting[]])[] = areas.map(
	([heading, table]) => [heading, Object.entries(table).map(([name, setting]) => named(name as SettingName, setting))],
);

/** Every setting of `sidecar start`. */
export const settings: readonly NamedSetting[] = settingAreas.flatMap(([, area]) => area);

function named(name: SettingName, setting: Setting): NamedSetting {
	const words = name.replace(/[A-Z]/g, (letter) => ` ${letter}`).split(' ');
	const { kind, unit, isSecret, variable = `SPOCK_${words.join('_').toUpperCase()}` } = setting;
	const placeholder = kind === 'duration' ? kind : unit;
	const flag = `--${words.join('-').toLowerCase()}${placeholder === undefined ? '' : ` <${placeholder}>`}`;
	return { ...setting, name, flag: isSecret ? undefined : flag, variable, defaultText: defaultText(setting) };
}

/** Settings by the name of the option that each is for; a list where the names are the same. */
type OptionNames = readonly SettingName[] | Readonly<Record<string, SettingName>>;

/** The options of a library that were given, typed; it fills in the defaults of the others itself. */
export function givenSettings<const O extends OptionNames>(settings: Settings, names: O): GivenSettings<O> {
	const entries = Array.isArray(names) ? names.map((name) => [name, name]) : Object.entries(names);
	const given = (entries as [string, SettingName][]).filter(([, name]) => settings[name].origin !== 'default');
	return Object.fromEntries(given.map(([option, name]) => [option, settings[name].value])) as GivenSettings<O>;
}

/**
 * Returns what `make` returns. An option that the library refuses is named as the flag or variable that it came from: an operator
 * does not know that `ttlMs` was given as `--registration-ttl-ms`.
 */
export function namedAsGiven<T>(settings: Settings, names: Readonly<Record<string, SettingName>>, make: () => T): T {
	try {
		return make();
	} catch (cause) {
		const { message } = cause as Error;
		const [, option = ''] = /^(\w+) must /.exec(message) ?? [];
		const name = Object.hasOwn(names, option) ? names[option] : undefined;
		if (name === undefined || settings[name].origin === 'default') throw cause;
		throw new CommandError(EXIT.usage, `${settings[name].where}${message.slice(option.length)}`, { cause });
	}
}

type GivenSettings<O extends OptionNames> = O extends readonly (infer N extends SettingName)[]
	? { -readonly [M in N]?: Exclude<Settings[M]['value'], undefined> }
	: { -readonly [M in keyof O]?: Exclude<Settings[O[M] & SettingName]['value'], undefined> };
