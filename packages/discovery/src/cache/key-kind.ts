import {
	type KeyEntry,
	type KeyQuery,
	type KeySnapshot,
	type KeyWatchStatus,
	keyQueryKey,
	makeKeySnapshot,
	normaliseKeyQuery,
} from '@spock/protocol';

import type { Backend } from '../foundation/backend.ts';
import { isSameEntries } from '../foundation/key-entry.ts';
import type { StateStore } from '../state/state-store.ts';
import type { AnswerKind, EntryStatus } from './answer-kind.ts';

type Entries = readonly KeyEntry[];

/** The kind of key queries, for a backend that supports keys; undefined for others. */
export function keyKind(
	backend: Backend,
	state: StateStore | undefined,
): AnswerKind<KeyQuery, Entries, KeySnapshot> | undefined {
	const watchKey = backend.watchKey?.bind(backend);
	if (watchKey === undefined) return undefined;
	return {
		noun: 'key',
		nothing: Object.freeze([]),
		nameOf: ({ key }) => key,
		keyOf: keyQueryKey,
		normalise: normaliseKeyQuery,
		describe: (query) => query,
		watch: watchKey,
		bytesOf: bytesOfEntries,
		isSame: isSameEntries,
		// For a single key, a registry distinguishes missing from denied; of a prefix, keys that the token may not read look missing.
		trustsEmpty: ({ prefix }) => prefix !== true || backend.trustsEmpty === true,
		consistsOf: () => false,
		explainEmpty: () => undefined,
		// That a single key is gone is always believed.
		makeSnapshot: (query, entries, { emptied, ...state }) =>
			makeKeySnapshot(query, entries, query.prefix === true && emptied ? { ...state, emptied } : state),
		published: ({ snapshot: { key, prefix, revision, source }, value }) => [
			{ type: 'key-published', key, prefix: prefix === true, revision, source, entries: value.length },
		],
		load: (query) => state?.loadKeys(query),
		keep: (query, entries, verifiedAt) => state?.keepKeys(query, entries, verifiedAt),
	};
}

/** What an object takes beside its texts. */
const ENTRY_BYTES = 256;

/** A value is there as text and in a line. */
function bytesOfEntries(entries: Entries): number {
	let bytes = 0;
	for (const { key, value } of entries) bytes += ENTRY_BYTES + 3 * (key.length + value.length);
	return bytes;
}

/** A watched key for status, without its value. */
export function keyWatchStatus(query: KeyQuery, status: EntryStatus<Entries>): KeyWatchStatus {
	const { value: entries = [], ...rest } = status;
	return { ...query, ...rest, entries: entries.length };
}
