import { type KeyEntry, SpockError } from '@spock/protocol';
import { isError } from '@spock/protocol/internal';

/** The configuration read from a snapshot of keys. */
export interface ConfigReading<V> {
	/** The value, from the last good value of each key; undefined without one. */
	readonly found: { readonly value: V } | undefined;
	/** Why `found` differs from the registry. */
	readonly error: SpockError | undefined;
	/** Errors that are new with this snapshot. */
	readonly errors: readonly SpockError[];
}

/** Reads snapshot after snapshot; a value that has not changed stays the same object. */
export type ConfigReader<V> = (entries: readonly KeyEntry[]) => ConfigReading<V>;

/** One key. Without a default, a missing key is an error. */
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

/**
 * A validator as specified by https://standardschema.dev: Zod, Valibot and ArkType provide them. It receives the text of the
 * value and must be synchronous.
 */
export interface StandardSchemaLike<T> {
	readonly '~standard': {
		readonly validate: (
			value: unknown,
		) =>
			| { readonly value: T; readonly issues?: undefined }
			| { readonly issues: readonly { readonly message: string }[] }
			| Promise<unknown>;
	};
}

/** The name of a key. Declared so that `JSON.parse`, whose second parameter is a function, is a {@link ConfigParser}. */
export type KeyName = string & NonNullable<Parameters<typeof JSON.parse>[1]>;

/** Parses the text of a key; throws, or returns issues, for invalid text. */
export type ConfigParser<T> = ((text: string, key: KeyName) => T) | StandardSchemaLike<T>;

/** The state of one key. */
interface Parsed<T> {
	/** The text that was read last, valid or not; undefined before that. */
	text: string | undefined;
	/** The last good value. */
	good: { readonly value: T } | undefined;
	/** Why `text` is invalid. */
	error: SpockError | undefined;
}

/** The changes of a snapshot. */
interface ParsedUpdate {
	/** True if a value was added, replaced or removed. */
	readonly changed: boolean;
	/** The errors of new values. */
	readonly errors: readonly SpockError[];
}

/** The values of keys; each text is parsed once. A key with invalid new text keeps its last good value. Pure. */
class ParsedKeys<T> {
	readonly #parse: ConfigParser<T>;
	readonly #keys = new Map<string, Parsed<T>>();

	constructor(parse: ConfigParser<T>) {
		this.#parse = parse;
	}

	/** The error of some key whose text is invalid; undefined when all are valid. */
	get error(): SpockError | undefined {
		for (const { error } of this.#keys.values()) if (error !== undefined) return error;
		return undefined;
	}

	/** The last good value of a key that exists. */
	good(key: string): { readonly value: T } | undefined {
		return this.#keys.get(key)?.good;
	}

	/** The good values by key. */
	values(): ReadonlyMap<string, T> {
		const values = new Map<string, T>();
		for (const [key, { good }] of this.#keys) if (good !== undefined) values.set(key, good.value);
		return values;
	}

	/** Takes the keys that exist now; all others are removed. */
	update(entries: readonly KeyEntry[]): ParsedUpdate {
		const gone = new Set(this.#keys.keys());
		const errors: SpockError[] = [];
		let changed = false;
		for (const entry of entries) {
			gone.delete(entry.key);
			const outcome = this.#read(entry);
			if (outcome === 'changed') changed = true;
			else if (outcome !== 'same') errors.push(outcome);
		}
		for (const key of gone) {
			if (this.#keys.get(key)?.good !== undefined) changed = true;
			this.#keys.delete(key);
		}
		return { changed, errors };
	}

	#read({ key, value: text, encoding }: KeyEntry): 'same' | 'changed' | SpockError {
		let parsed = this.#keys.get(key);
		if (parsed === undefined) {
			parsed = { text: undefined, good: undefined, error: undefined };
			this.#keys.set(key, parsed);
		}
		// Base64 and text of other bytes may look alike.
		const seen = `${encoding ?? ''} ${text}`;
		if (parsed.text === seen) return 'same';
		parsed.text = seen;
		try {
			const value = this.#apply(encoding === undefined ? text : decode(text), key);
			parsed.good = { value };
			parsed.error = undefined;
			return 'changed';
		} catch (cause) {
			const reason = isError(cause) ? cause.message : String(cause);
			const message = `the value of ${JSON.stringify(key)} is invalid: ${reason}`;
			parsed.error = new SpockError('BAD_VALUE', message, { details: { key }, cause });
			return parsed.error;
		}
	}

	#apply(text: string, key: string): T {
		const parse = this.#parse;
		// Checked first, because the schemas of some libraries are functions.
		if (!('~standard' in parse)) return parse(text, key as KeyName);
		const result = parse['~standard'].validate(text);
		if (result instanceof Promise) throw new TypeError('the schema returned a promise; it must validate synchronously');
		if (result.issues !== undefined) throw new Error(result.issues.map(({ message }) => message).join('; '));
		return result.value;
	}
}

/** Throws a TypeError for bytes that are not UTF-8. */
function decode(base64: string): string {
	return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
}
