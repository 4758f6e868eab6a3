import type { IncomingMessage } from 'node:http';

import type { KeyEntry, KeyQuery } from '@spock/protocol';

import type { BackendObserver } from '../../../foundation/backend.ts';
import { isSameEntries, sortEntries, toKeyEntry } from '../../../foundation/key-entry.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { parseIndex, readAnswerMeta } from '../client/answer-headers.ts';
import { notJson, refuseFiltered, refuseUnaskable, withRight } from '../client/consul-error.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/** Longest body that may still fit into a frame: the shortest entries take about six times as much in Consul's form. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
const NO_BYTES = Buffer.alloc(0);

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
		// `buffer`: the package would otherwise decode bytes that are not text. With `recurse` it returns all entries.
		send: (client, common) => client.kv.get({ ...common, key, recurse: prefix === true, buffer: true } as KeyRequest),
		read: (response: IncomingMessage, body: unknown) => readAnsweredKeys(response, body),
	});
	return recovery.start<readonly KeyEntry[]>({
		fetch: async (from, signal) => {
			refuseUnaskable('key', key);
			const { value: found, ...answer } = await ask(from, signal).catch((error: unknown) => {
				throw withRight(
					error,
					`key:read for ${prefix === true ? 'every key that begins with ' : ''}${JSON.stringify(key)}`,
				);
			});
			// Only now, because a response that is too large is still one: Consul is well, and another address would not help.
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

/** One key as Consul returns it. */
interface FoundKey {
	readonly key: string;
	readonly bytes: Buffer;
}

/**
 * The answer of /v1/kv as the npm package returns it: one entry, or a list of them; nothing for the 404 of a missing key,
 * which has an index like every other response. Throws an Error where the body is not the API's or X-Consul-Index
 * is missing (a 404 of another program), and ACL_DENIED where everything was filtered from it.
 * Source: https://developer.hashicorp.com/consul/api-docs/kv#read-key
 */
export function readAnsweredKeys(
	response: Pick<IncomingMessage, 'headers' | 'statusCode'>,
	body: unknown,
): FetchAnswer<readonly FoundKey[]> {
	const entries = body === undefined && response.statusCode === 404 ? [] : Array.isArray(body) ? body : [body];
	if (!entries.every(isEntry)) throw notJson(response);
	const index = parseIndex(response.headers['x-consul-index']);
	if (index === undefined) throw new Error('its response has no X-Consul-Index');
	if (entries.length === 0) refuseFiltered(response);
	// A key without bytes has the value null.
	const value = entries.map(({ Key, Value }) => ({ key: Key, bytes: Value ?? NO_BYTES }));
	return { value, index, meta: readAnswerMeta(response) };
}

function isEntry(value: unknown): value is { readonly Key: string; readonly Value?: Buffer | null } {
	if (typeof value !== 'object' || value === null) return false;
	const { Key, Value } = value as { Key?: unknown; Value?: unknown };
	return typeof Key === 'string' && (Value === undefined || Value === null || Buffer.isBuffer(Value));
}
