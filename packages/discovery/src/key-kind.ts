import {
	type KeyEntry,
	type KeyQuery,
	type KeySnapshot,
	type KeyWatchStatus,
	keyQueryKey,
	makeKeySnapshot,
	normaliseKeyQuery,
} from '@spock/protocol';

import type { AnswerKind, EntryStatus } from './answer-kind.ts';
import type { Backend } from './backend.ts';
import { isSameEntries } from './key-entry.ts';

type Entries = readonly KeyEntry[];

/** Questions for keys, to a backend that has some. */
export function keyKind(watchKey: NonNullable<Backend['watchKey']>): AnswerKind<KeyQuery, Entries, KeySnapshot> {
	return {
		noun: 'key',
		nameOf: ({ key }) => key,
		keyOf: keyQueryKey,
		normalise: normaliseKeyQuery,
		watch: watchKey,
		isSame: isSameEntries,
		makeSnapshot: makeKeySnapshot,
		describe: (query) => query,
		published: ({ key, prefix, revision, source }, _before, entries) => ({
			type: 'key-published',
			key,
			prefix: prefix === true,
			revision,
			source,
			entries: entries.length,
		}),
	};
}

/** A key being watched, as status tells it: never its value. */
export function keyWatchStatus(query: KeyQuery, status: EntryStatus<Entries>): KeyWatchStatus {
	const { value: entries = [], ...rest } = status;
	return { ...query, ...rest, entries: entries.length };
}
