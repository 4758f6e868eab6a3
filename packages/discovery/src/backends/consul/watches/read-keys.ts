import type { IncomingMessage } from 'node:http';

import { parseIndex } from '../../../watch/blocking-index.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { readAnswerMeta } from '../client/answer-headers.ts';
import { notJson, refuseFiltered } from '../client/consul-error.ts';

/** One key as Consul gives it. */
export interface FoundKey {
	readonly key: string;
	readonly bytes: Buffer;
}

const NO_BYTES = Buffer.alloc(0);

/**
 * The answer of /v1/kv as the npm package gives it: one entry, or a list of them; nothing for the 404 that says there is no
 * such key, and that has an index like every other answer. Throws an Error where the body is not the API's or X-Consul-Index
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
