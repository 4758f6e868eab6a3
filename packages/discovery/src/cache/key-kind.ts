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

/** Questions for keys, to a backend that has some; undefined for another. */
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
		isSame: isSameEntries,
		// A registry says of a single key whether it is there or denied; what a token may not see of a prefix looks like nothing.
		trustsEmpty: ({ prefix }) => prefix !== true || backend.trustsEmpty === true,
		consistsOf: () => false,
		explainEmpty: () => undefined,
		makeSnapshot: makeKeySnapshot,
		published: ({ snapshot: { key, prefix, revision, source }, value }) => [
			{ type: 'key-published', key, prefix: prefix === true, revision, source, entries: value.length },
		],
		load: (query) => state?.loadKeys(query),
		keep: (query, entries, verifiedAt) => state?.keepKeys(query, entries, verifiedAt),
	};
}

/** A key being watched, as status tells it: never its value. */
export function keyWatchStatus(query: KeyQuery, status: EntryStatus<Entries>): KeyWatchStatus {
	const { value: entries = [], ...rest } = status;
	return { ...query, ...rest, entries: entries.length };
}
