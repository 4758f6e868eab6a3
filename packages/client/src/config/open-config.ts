import type { KeySource } from '@spock/protocol';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { Scope } from '../foundation/scope.ts';
import { toKeyQuery } from '../lookups/lookup-options.ts';
import { Config, type ConfigListeners } from './config.ts';
import { type ConfigParser, keyReader, prefixReader } from './config-reader.ts';

/** Options of `diplomat.config` for one key. */
export interface ConfigOptions<T> extends ConfigListeners<T> {
	/** Parses the text; throws if it is invalid. Default: the value is the text itself. */
	readonly parse?: ConfigParser<T> | undefined;
	/** The value before the first answer and while the key is missing. Default: none, and a missing key is an error. */
	readonly default?: T;
	/** Default: the one of the sidecar's backend. */
	readonly datacenter?: string;
	readonly prefix?: false;
}

/** Options of `diplomat.config` for all keys that begin with a text. */
export interface PrefixConfigOptions<T> extends ConfigListeners<ReadonlyMap<string, T>> {
	readonly prefix: true;
	/** As for one key; also receives the key. */
	readonly parse?: ConfigParser<T> | undefined;
	/** The value before the first answer and while there are no keys. Default: none before, an empty map after. */
	readonly default?: ReadonlyMap<string, T>;
	readonly datacenter?: string;
}

/**
 * Opens a configuration, which belongs to the scope until it is closed. Throws BAD_REQUEST for an invalid key, a TypeError for an
 * invalid `parse`, and what the source throws.
 */
export function openConfig<T>(
	key: string,
	options: ConfigOptions<T> | PrefixConfigOptions<T>,
	source: KeySource,
	clientOptions: ResolvedOptions,
	scope: Scope,
): Config<T> | Config<ReadonlyMap<string, T>> {
	const { datacenter } = options;
	const place = datacenter === undefined ? {} : { datacenter };
	// Without `parse` the value is text.
	const parse = parseOption(options.parse) ?? ((text: string) => text as T);
	if (options.prefix === true) {
		const query = toKeyQuery({ key, prefix: true, ...place });
		const fallback = options.default && { value: options.default };
		const read = prefixReader(parse, fallback !== undefined);
		return new Config({ ...listenersOf(options), query, fallback, read }, source, clientOptions, scope);
	}
	const query = toKeyQuery({ key, ...place });
	const fallback = options.default === undefined ? undefined : { value: options.default };
	const read = keyReader(key, parse, fallback !== undefined);
	return new Config({ ...listenersOf(options), query, fallback, read }, source, clientOptions, scope);
}

function listenersOf<V>({ onChange, onError }: ConfigListeners<V>): ConfigListeners<V> {
	return { ...(onChange && { onChange }), ...(onError && { onError }) };
}

function parseOption<T>(parse: ConfigParser<T> | undefined): ConfigParser<T> | undefined {
	if (parse === undefined || typeof parse === 'function') return parse;
	if (typeof parse === 'object' && parse !== null && '~standard' in parse) return parse;
	throw new TypeError('parse must be a function, or a schema in the form of https://standardschema.dev');
}
