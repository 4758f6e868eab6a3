import { type KeyEntry, SpockError } from '@spock/protocol';

import { type ConfigParser, ParsedKeys } from './parsed-keys.ts';

/** What a snapshot of keys means for a configuration. */
export interface ConfigReading<V> {
	/** The value, made of the last good value of each key; undefined when there is none. */
	readonly found: { readonly value: V } | undefined;
	/** Why `found` is not, or not wholly, what the registry says. */
	readonly error: SpockError | undefined;
	/** Errors that have come with this snapshot. */
	readonly errors: readonly SpockError[];
}

/** Reads snapshot after snapshot; a value that has not changed stays the same object. */
export type ConfigReader<V> = (entries: readonly KeyEntry[]) => ConfigReading<V>;

/** One key. That it is missing is an error unless there is a default. */
export function keyReader<T>(key: string, parse: ConfigParser<T>, hasDefault: boolean): ConfigReader<T> {
	const parsed = new ParsedKeys(parse);
	let missing: SpockError | undefined;
	return (entries) => {
		const { errors } = parsed.update(entries);
		if (entries.length > 0 || hasDefault) {
			missing = undefined;
			return { found: parsed.good(key), error: parsed.error, errors };
		}
		const isNew = missing === undefined;
		missing ??= new SpockError(
			'NO_SUCH_KEY',
			`the key ${JSON.stringify(key)} does not exist; create it or give a default`,
			{
				details: { key },
			},
		);
		return { found: undefined, error: missing, errors: isNew ? [missing] : [] };
	};
}

/** All keys of a prefix, by their whole names. No keys are an empty map, unless there is a default. */
export function prefixReader<T>(parse: ConfigParser<T>, hasDefault: boolean): ConfigReader<ReadonlyMap<string, T>> {
	const parsed = new ParsedKeys(parse);
	let found: { readonly value: ReadonlyMap<string, T> } | undefined;
	return (entries) => {
		const { changed, errors } = parsed.update(entries);
		if (changed || found === undefined) found = { value: parsed.values() };
		return { found: hasDefault && entries.length === 0 ? undefined : found, error: parsed.error, errors };
	};
}
