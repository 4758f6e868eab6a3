/** What a value is, by the kind of its setting. */
export interface ValueByKind {
	readonly text: string;
	readonly list: readonly string[];
	readonly integer: number;
	/** In milliseconds. */
	readonly duration: number;
	readonly fraction: number;
	readonly boolean: boolean;
	/** Permissions, in octal. */
	readonly mode: number;
}

/** What any setting may be, once read. */
export type Value = ValueByKind[keyof ValueByKind];

/**
 * One setting of `sidecar start`. Its flag, its variable, its key in a config file, `--print-config`, the reference page and the
 * type of its value follow from this and from its name.
 */
export interface Setting {
	/** How it is read; a list: one of these words. */
	readonly kind: keyof ValueByKind | readonly string[];
	/** The unit of a number; of others what stands for the value in `--help`, as in `--socket <path>`. None for switches. */
	readonly unit?: string;
	/** The value where nothing is given; absent where it is decided later. */
	readonly default?: Value;
	/** For people: what applies without a default, if not `none`; or something to add to the default. */
	readonly note?: string;
	/** One sentence: what it does. */
	readonly help: string;
	/** The environment variable, where Consul has named it already. */
	readonly variable?: string;
	/** True: never shown, and without a flag, because it would stand in a list of processes. */
	readonly isSecret?: true;
}

/** What a setting is once it is read; undefined only where it has no default. */
export type ValueOf<S extends Setting> =
	| (S['kind'] extends readonly (infer Word)[] ? Word : ValueByKind[S['kind'] & keyof ValueByKind])
	| (S extends { readonly default: Value } ? never : undefined);

/** Reads one kind of values. */
interface Parser<T> {
	/** For messages: what it must be. */
	readonly expected: string;
	/** For the reference page. */
	readonly title: string;
	/** From a flag, a variable or a config file; undefined if it is wrong. */
	parse(raw: unknown): T | undefined;
	/** For the end of a message: what in particular is wrong; empty where `expected` says it all. */
	fault?(raw: unknown): string;
}

/** For messages: what a duration is. */
const DURATION_EXPECTED = 'a duration such as 500ms, 10s, 2m or 1h';

const parsers: { readonly [K in keyof ValueByKind]: Parser<ValueByKind[K]> } = {
	text: {
		expected: 'non-empty text',
		title: 'text',
		parse: (raw) => (typeof raw === 'string' && raw !== '' ? raw : undefined),
	},
	list: {
		expected: 'a list without empty items',
		title: 'list',
		parse: (raw) => {
			const list: unknown = typeof raw === 'string' ? raw.split(',').map((item) => item.trim()) : raw;
			return Array.isArray(list) && list.every((item) => typeof item === 'string' && item !== '') ? list : undefined;
		},
	},
	integer: {
		expected: 'a whole number',
		title: 'whole number',
		parse: (raw) => {
			const value = typeof raw === 'string' && /^\d+$/.test(raw) ? Number(raw) : raw;
			return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
		},
	},
	duration: {
		expected: DURATION_EXPECTED,
		title: 'duration',
		parse: (raw) => (typeof raw === 'string' || typeof raw === 'number' ? readDurationMs(String(raw)) : undefined),
		fault: (raw) => durationFault(String(raw)),
	},
	fraction: {
		expected: 'a number from 0 to 1',
		title: '0 to 1',
		parse: (raw) => {
			const value = typeof raw === 'string' && /^[\d.]+$/.test(raw) ? Number(raw) : raw;
			return typeof value === 'number' && value >= 0 && value <= 1 ? value : undefined;
		},
	},
	boolean: {
		expected: 'true or false',
		title: 'true or false',
		parse: (raw) => {
			if (raw === true || raw === 'true' || raw === '1') return true;
			return raw === false || raw === 'false' || raw === '0' ? false : undefined;
		},
	},
	mode: {
		expected: 'three octal digits as text, as in "0660"',
		title: 'octal',
		// No number: YAML reads 0440 as the decimal 440, which is 0670.
		parse: (raw) => (typeof raw === 'string' && /^0?[0-7]{3}$/.test(raw) ? Number.parseInt(raw, 8) : undefined),
	},
};

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
/** The longest wait of a timer of Node, nearly 25 days. */
const DURATION_MS_MAX = 2 ** 31 - 1;

/**
 * Reads `250ms`, `30s`, `1.5m`, `2h`, or a number alone, which is milliseconds. Undefined for anything else, and for more than
 * a timer can wait, 2147483647 ms.
 */
export function readDurationMs(text: string): number | undefined {
	const [, number, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
	if (number === undefined) return undefined;
	const durationMs = Number(number) * (UNITS_MS[unit] as number);
	// Not rounded to zero, which often means no limit.
	if (durationMs > 0 && durationMs < 1) return undefined;
	return durationMs <= DURATION_MS_MAX ? Math.round(durationMs) : undefined;
}

/** The message for a flag, `--timeout` say, that is no duration: what is accepted, and what is wrong with this text. */
export function durationMessage(flag: string, text: string): string {
	return `${flag} must be ${DURATION_EXPECTED}, not ${JSON.stringify(text)}${durationFault(text)}`;
}

/** For the end of a message: what is wrong with a text that is no duration. */
function durationFault(text: string): string {
	const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([^\d\s.].*)?$/.exec(text) ?? [];
	if (number === '') return '';
	if (unit !== '' && !Object.hasOwn(UNITS_MS, unit)) return `: unknown unit ${JSON.stringify(unit)}; use ms, s, m or h`;
	if (/\s/.test(text)) return ': write the unit right behind the number';
	const durationMs = Number(number) * (UNITS_MS[unit || 'ms'] as number);
	if (durationMs > DURATION_MS_MAX) return `: at most ${DURATION_MS_MAX} ms, nearly 25 days`;
	return durationMs > 0 && durationMs < 1 ? ': at least 1 ms, or 0' : '';
}

/** A duration in the largest unit of which it is a whole number, as people write one: `90s`, `2h`, `1500ms`, `0`. */
export function showDuration(durationMs: number): string {
	if (durationMs === 0) return '0';
	const [unit, size] = Object.entries(UNITS_MS).findLast(([, ms]) => durationMs % ms === 0) ?? ['ms', 1];
	return `${durationMs / size}${unit}`;
}

/** How the values of a setting are read. */
export function parserOf({ kind }: Setting): Parser<Value> {
	if (typeof kind === 'string') return parsers[kind];
	return {
		expected: `one of ${kind.join(', ')}`,
		title: kind.map((word) => `\`${word}\``).join(', '),
		parse: (raw) => kind.find((word) => word === raw),
	};
}

/** What applies where nothing is given, for people. */
export function defaultText(setting: Setting): string {
	const { default: value, note } = setting;
	return value === undefined ? (note ?? 'none') : showValue(setting, value) + (note ?? '');
}

/** A value as people write it. */
export function showValue({ kind }: Setting, value: Value): string {
	if (kind === 'duration') return showDuration(value as number);
	return kind === 'mode' ? `0${value.toString(8)}` : String(value);
}

/** A value without what may be a password or a token in a URL; where an address is meant, also in one without a scheme. */
export function withoutPassword(text: string, isAddress = false): string {
	const shown = text.replace(/:\/\/[^/?#\s]*@/, '://(hidden)@').replace(/(:\/\/[^?]*\?).*$/s, '$1(hidden)');
	return isAddress && !shown.includes('://') ? shown.replace(/^[^/\s]*@/, '(hidden)@') : shown;
}
