import { type KeySource, type ServiceSource, SpockError } from '@spock/protocol';

/** The keys behind a source. Throws UNKNOWN_FUNC where its registry has none. */
export function keysOf({ name, keys }: ServiceSource): KeySource {
	if (keys !== undefined) return keys;
	throw new SpockError('UNKNOWN_FUNC', `the backend ${name} has no keys`, { details: { backend: name } });
}
