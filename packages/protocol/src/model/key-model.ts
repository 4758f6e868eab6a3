import type { SnapshotState } from './snapshot.ts';

/** A query of the registry's key-value store. Queries with equal members share one watch and one subscription. */
export interface KeyQuery {
	/** The key, or with `prefix` the beginning of keys; 1 to 512 characters. */
	readonly key: string;
	/** True: every key that begins with `key`. Default false: the key itself. */
	readonly prefix?: boolean;
	/** The registry's datacenter. Default: the one of the sidecar's backend. */
	readonly datacenter?: string;
}

/** The data of getKey. */
export interface GetKeyData extends KeyQuery {
	/** The registry must have confirmed the answer within this many milliseconds; else UNAVAILABLE. */
	readonly maxAgeMs?: number;
}

/** One key and its value. */
export interface KeyEntry {
	readonly key: string;
	/** The value as text, or its bytes in base64 if `encoding` says so. */
	readonly value: string;
	/** Present if the bytes are not UTF-8, or would be longer as JSON text than as base64. */
	readonly encoding?: 'base64';
}

/** One key at one moment. A missing key is an answer too: it has an age, and a push follows when the key is created. */
export interface KeyValueSnapshot extends KeyQuery, SnapshotState {
	readonly prefix?: never;
	/** As in {@link KeyEntry}; null for a missing key. */
	readonly value: string | null;
	readonly encoding?: 'base64';
}

/** All keys that begin with `key` at one moment, sorted by key; possibly none. */
export interface KeyPrefixSnapshot extends KeyQuery, SnapshotState {
	readonly prefix: true;
	readonly entries: readonly KeyEntry[];
}

/** The answer to getKey and watchKey, and the data of a push `key`. `prefix` distinguishes the two kinds. */
export type KeySnapshot = KeyValueSnapshot | KeyPrefixSnapshot;

/** The key under which a query is cached and subscribed: equal for equal queries, and only for these. */
export function keyQueryKey({ key, prefix, datacenter }: KeyQuery): string {
	// A key may contain any character: the first one distinguishes the two forms.
	if (prefix !== true && datacenter === undefined) return `=${key}`;
	return JSON.stringify([key, prefix === true, datacenter ?? null]);
}

/** The query with only the members that count; frozen. */
export function normaliseKeyQuery({ key, prefix, datacenter }: KeyQuery): KeyQuery {
	return Object.freeze({
		key,
		...(prefix === true && { prefix }),
		...(datacenter !== undefined && { datacenter }),
	});
}

/** The snapshot of a normalised query, frozen, from what was found: for a single key one entry or none. */
export function makeKeySnapshot(query: KeyQuery, entries: readonly KeyEntry[], state: SnapshotState): KeySnapshot {
	const { key, datacenter } = query;
	const place = { key, ...(datacenter !== undefined && { datacenter }) };
	if (query.prefix === true) return Object.freeze({ ...place, prefix: true, ...state, entries });
	const [entry] = entries;
	const { value = null, encoding } = entry ?? {};
	return Object.freeze({ ...place, ...state, value, ...(encoding && { encoding }) });
}

/** The keys of a snapshot: those of a prefix; or the single key, if it exists. */
export function entriesOf(snapshot: KeySnapshot): readonly KeyEntry[] {
	if (snapshot.prefix === true) return snapshot.entries;
	const { key, value, encoding } = snapshot;
	return value === null ? [] : [{ key, value, ...(encoding && { encoding }) }];
}
