import type { IncomingMessage } from 'node:http';

import type { KeyEntry, KeyQuery } from '@spock/protocol';

import type { BackendObserver } from '../../../foundation/backend.ts';
import { isSameEntries, sortEntries, toKeyEntry } from '../../../foundation/key-entry.ts';
import { refuseUnaskable } from '../client/consul-name.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import { readAnsweredKeys } from './read-keys.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** Longest body that may still be an answer which fits: the shortest entries take about six times as much in Consul's form. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/**
/**
 * Starts the watch of a key, or of all keys that begin with it.
 * Source: https://developer.hashicorp.com/consul/api-docs/kv#read-key
 */
export function watchConsulKey(
	http: ConsulHttp,
	recovery: WatchRecovery,
	query: KeyQuery,
	observer: BackendObserver<readonly KeyEntry[]>,
): ConsulWatch {
	const { key, prefix, datacenter } = query;
	const ask = http.blocking({
		parameters: http.readParameters(datacenter),
		answerBytesMax: ANSWER_BYTES_MAX,
		// `buffer`: the package would otherwise make text of bytes that are none. With `recurse` it gives all entries.
		send: (client, common) => client.kv.get({ ...common, key, recurse: prefix === true, buffer: true } as KeyRequest),
		read: (response: IncomingMessage, body: unknown) => readAnsweredKeys(response, body),
	});
	return recovery.start<readonly KeyEntry[]>({
		fetch: async (from, signal) => {
			refuseUnaskable('key', key);
			const { value: found, ...answer } = await ask(from, signal);
			// Only now, because an answer that is too large is an answer: Consul is well, and another address is no remedy.
			const entries = found.map(({ key: name, bytes }) => toKeyEntry(name, bytes));
			return { ...answer, value: sortEntries(query, entries) };
		},
		isSame: isSameEntries,
		answered: (entries, meta) => observer.answered(entries, meta),
		failed: (error) => observer.failed(error),
	});
}

/** What the package's types leave out. */
interface KeyRequest {
	readonly key: string;
	readonly recurse: boolean;
	readonly buffer: true;
}
