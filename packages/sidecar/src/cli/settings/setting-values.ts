import type { Resolved } from './resolve-settings.ts';

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
