import { showValue, type Value, withoutPassword } from '../settings/setting.ts';
import { type NamedSetting, type Settings, settingAreas } from '../settings/settings.ts';
import { CONSUL_VARIABLES } from '../settings/source-settings.ts';
import { type DecisionFacts, decidedSettings } from './decided-settings.ts';

/** One line of `--print-config`. */
interface Row {
	readonly name: string;
	/** Undefined where nothing is in force. */
	readonly value: Value | undefined;
	readonly shown: string;
	/** `flag: --socket`, or `default: half of entriesMax`. */
	readonly from: string;
}

/** Widest column of values that is aligned; a longer value moves only its own line. */
const VALUE_WIDTH_MAX = 36;
/** Units of values that are addresses. */
const ADDRESSES = ['url', 'urls', 'address', 'addresses'];

/** `--print-config`: every setting in force and where it comes from, by area; secrets and passwords in URLs are hidden. */
export function describeSettings(settings: Settings, facts: DecisionFacts): string {
	const parts = configRows(settings, facts);
	const rows = parts.flatMap(([, area]) => area);
	const width = Math.max(...rows.map(({ name }) => name.length));
	const valueWidth = Math.min(VALUE_WIDTH_MAX, Math.max(...rows.map(({ shown }) => shown.length)));
	const line = ({ name, shown, from }: Row): string => `${name.padEnd(width)}  ${shown.padEnd(valueWidth)}  ${from}`;
	return parts.map(([heading, area]) => [`# ${heading}`, ...area.map(line)].join('\n')).join('\n\n');
}

/** The same for programs; `value` is null where nothing is in force, durations are milliseconds. */
export function settingsAsJson(settings: Settings, facts: DecisionFacts): Record<string, unknown> {
	const decided = decidedSettings(settings, facts);
	const rows = settingAreas.flatMap(([, area]) =>
		area.map((setting) => {
			const { name, kind, defaultText } = setting;
			const { origin, where } = settings[name];
			const { value } = rowOf(setting, settings, decided);
			const shown = value === undefined ? null : kind === 'mode' ? showValue(setting, value) : hidden(setting, value);
			const because = decided[name]?.because;
			return [
				name,
				{
					value: shown,
					origin,
					...(origin !== 'default' && { where }),
					...(because !== undefined && { because }),
					default: defaultText,
				},
			];
		}),
	);
	const variables = consulVariables(facts).map(({ name, value }) => [
		name,
		{ value, origin: 'environment', where: name, default: 'none' },
	]);
	return Object.fromEntries([...rows, ...variables]);
}

function configRows(settings: Settings, facts: DecisionFacts): (readonly [heading: string, rows: readonly Row[]])[] {
	const decided = decidedSettings(settings, facts);
	const parts = settingAreas.map(
		([heading, area]) => [heading, area.map((setting) => rowOf(setting, settings, decided))] as const,
	);
	const variables = consulVariables(facts);
	return variables.length === 0 ? parts : [...parts, ["Consul's own variables", variables]];
}

function rowOf(setting: NamedSetting, settings: Settings, decided: ReturnType<typeof decidedSettings>): Row {
	const { name, note } = setting;
	const { value: given, origin, where } = settings[name];
	const decision = decided[name];
	const { value, because } = decision ?? { value: given, because: undefined };
	const from = origin === 'default' ? 'default' : `${origin}: ${where}`;
	const reason = because === undefined ? '' : origin === 'default' ? `: ${because}` : ` (${because})`;
	const shown =
		value === undefined ? (decision === undefined && note) || 'none' : showValue(setting, hidden(setting, value));
	return { name, value, shown, from: `${from}${reason}` };
}

/** What may be shown of a value: no secret, and no password or token in a URL. */
function hidden({ isSecret, unit = '' }: NamedSetting, value: Value): Value {
	if (isSecret) return '(hidden)';
	const shown = (text: string): string => withoutPassword(text, ADDRESSES.includes(unit));
	if (typeof value === 'string') return shown(value);
	return Array.isArray(value) ? (value as readonly string[]).map(shown) : value;
}

/** Those of Consul's variables that are set and have no setting; none is a secret. */
function consulVariables({ env }: DecisionFacts): Row[] {
	return Object.keys(CONSUL_VARIABLES).flatMap((name) => {
		const value = env[name];
		return value ? [{ name, value, shown: value, from: 'environment' }] : [];
	});
}
