import type { IncomingMessage } from 'node:http';

import type { AnswerMeta } from '../../../foundation/backend.ts';

/** An answer, as far as its headers go. */
export type AnswerHeaders = Pick<IncomingMessage, 'headers'>;

/**
 * What Consul says of an answer's freshness. A follower's answer may be as old as its last contact with the leader, and an
 * agent's cached one is as old as its Age.
 * Source: https://developer.hashicorp.com/consul/api-docs/features/consistency, …/features/caching
 */
export function readAnswerMeta({ headers }: AnswerHeaders): AnswerMeta {
	// The streaming backend says the same two things at all times: no leader, and heard from it just now.
	const isStreaming = isStreamed({ headers });
	const lastContactMs = isStreaming ? undefined : countFrom(headers['x-consul-lastcontact']);
	const knownLeader = isStreaming ? undefined : headers['x-consul-knownleader'];
	const ageSeconds = countFrom(headers['age']);
	const cache = headers['x-cache'];
	return {
		ageMs: (lastContactMs ?? 0) + (ageSeconds ?? 0) * 1000,
		...(lastContactMs !== undefined && { lastContactMs }),
		...((knownLeader === 'true' || knownLeader === 'false') && { knownLeader: knownLeader === 'true' }),
		...(typeof cache === 'string' && { cache: /^hit$/i.test(cache) ? 'hit' : 'miss' }),
	};
}

/** True for what an agent gave from its stream. Source: https://developer.hashicorp.com/consul/api-docs/features/blocking#streaming-backend */
export function isStreamed({ headers }: AnswerHeaders): boolean {
	return headers['x-consul-query-backend'] === 'streaming';
}

/** A header that is a whole number, not negative; undefined for any other. */
function countFrom(header: string | readonly string[] | undefined): number | undefined {
	return typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

/** The value of X-Consul-Index; undefined when it is missing or no index, which makes the answer an error. */
export function parseIndex(header: string | string[] | undefined): number | undefined {
	if (typeof header !== 'string' || !/^\d{1,16}$/.test(header)) return undefined;
	const index = Number(header);
	return Number.isSafeInteger(index) ? index : undefined;
}
