/** What one setting of `sidecar start` may be, and where it may come from. */
export interface Setting {
	/** Its name in a config file. */
	readonly name: string;
	/** For commander: `--socket <path>`; none for what must not stand in a process list. */
	readonly flag?: string;
	/** The environment variable. */
	readonly env: string;
	readonly help: string;
	readonly kind: 'text' | 'list' | 'integer' | 'fraction' | 'boolean' | 'mode' | readonly string[];
	readonly isSecret?: true;
	/** For people; the value itself is decided where the setting is used. */
	readonly fallback: string;
}

/** Where a value came from. */
export type Origin = 'flag' | 'environment' | 'config file' | 'default';

/** What a setting may be, once read. */
export type Value = string | number | boolean | readonly string[];

/** One setting in force; `value` is undefined where the default is decided later. */
export interface Resolved {
	readonly setting: Setting;
	readonly value: Value | undefined;
	readonly origin: Origin;
	/** For messages: `--socket`, `SPOCK_SOCKET`, `socket in spock.yaml`. */
	readonly where: string;
}

/** Every setting in force, by name. */
export type Settings = ReadonlyMap<string, Resolved>;

/** A setting of text; undefined where the default is decided later. */
export function textOf(settings: Settings, name: string): string | undefined {
	return settings.get(name)?.value as string | undefined;
}

/** A setting of a whole number; undefined where the default is decided later. */
export function integerOf(settings: Settings, name: string): number | undefined {
	return settings.get(name)?.value as number | undefined;
}

/** Those of the settings that somebody gave, by name, to be spread into options: what is absent gets its default there. */
export function givenSettings<O>(
	settings: Settings,
	names: readonly (keyof O & string)[],
): { -readonly [N in keyof O]?: Exclude<O[N], undefined> } {
	const values = names.map((name) => [name, settings.get(name)?.value] as const);
	return Object.fromEntries(values.filter(([, value]) => value !== undefined)) as ReturnType<typeof givenSettings<O>>;
}
