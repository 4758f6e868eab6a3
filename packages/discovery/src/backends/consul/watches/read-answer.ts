import type { ServiceInstance, ServiceListEntry } from '@spock/protocol';

import type { AnswerMeta } from '../../../foundation/backend.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { type AnswerHeaders, parseIndex, readAnswerMeta } from '../client/answer-headers.ts';
import { notJson, refuseFiltered } from '../client/consul-error.ts';
import { readHealthEntries, type TaggedAddress } from './health-entry.ts';

/** Entries of an answer that are read: an entry of Consul has over 1000 bytes, so that no answer of it has more. */
const ENTRIES_MAX = 100_000;
/** Names of a list of services that are read. */
const SERVICES_MAX = 500_000;

/** The instances of a service. */
export interface InstancesAnswer extends FetchAnswer<readonly ServiceInstance[]> {
	/** It is empty, and nothing in it says whether that is the truth or the want of a permission. */
	readonly mayBeDenied?: true;
}

/**
 * The answer of /v1/health/service. Throws an Error where the body is not the API's or X-Consul-Index is missing, and
 * ACL_DENIED where everything was filtered from it.
 */
export function readAnsweredInstances(
	response: AnswerHeaders,
	body: unknown,
	taggedAddress?: TaggedAddress,
): InstancesAnswer {
	const entries = expectEntries(response, body);
	const index = expectIndex(response);
	if (entries.length === 0) refuseFiltered(response);
	const value = readHealthEntries(entries, taggedAddress);
	const mayBeDenied = entries.length === 0 && isSilentOnDenial(response);
	return {
		value,
		index,
		meta: readAnswerMeta(response),
		...(mayBeDenied && { mayBeDenied }),
	};
}

/** Of an answer of which nothing but the index counts, and how fresh it is. Throws where X-Consul-Index is missing. */
export function readAnsweredIndex(response: AnswerHeaders): FetchAnswer<true> {
	return { value: true, index: expectIndex(response), meta: readAnswerMeta(response) };
}

/**
 * True where an empty answer may be a denial that is not told as one. Consul tells nobody without a token that it has filtered
 * something; and its streaming backend, which answers most queries that block, tells nobody at all: it goes on with 200 and `[]`
 * even for a token that was deleted.
 */
function isSilentOnDenial({ headers }: AnswerHeaders): boolean {
	return headers['x-consul-default-acl-policy'] === 'deny';
}

/** The names of all services. */
export interface ServicesAnswer {
	readonly services: readonly ServiceListEntry[];
	/** As of {@link InstancesAnswer}. */
	readonly mayBeDenied: boolean;
	readonly meta: AnswerMeta;
}

/** The answer of /v1/catalog/services, sorted by name. Throws as {@link readAnsweredInstances} does. */
export function readAnsweredServices(response: AnswerHeaders, body: unknown): ServicesAnswer {
	const services = Object.entries(expectServices(response, body))
		.map(([name, tags]) => ({ name, tags: [...(tags ?? [])].sort() }))
		.sort((left, right) => (left.name < right.name ? -1 : 1));
	const mayBeDenied = services.length === 0 && isSilentOnDenial(response);
	return { services, mayBeDenied, meta: readAnswerMeta(response) };
}

type TagsByName = Readonly<Record<string, readonly string[] | null>>;

function expectServices(response: AnswerHeaders, body: unknown): TagsByName {
	if (!isObject(body) || Array.isArray(body)) throw notJson(response);
	const entries = Object.entries(body);
	if (entries.length > SERVICES_MAX) throw tooMany(SERVICES_MAX);
	// An object of something else, such as an error of a proxy.
	if (entries.length > 0 && !entries.some(([, tags]) => isListOrNull(tags))) throw notJson(response);
	if (entries.length === 0) refuseFiltered(response);
	return Object.fromEntries(
		entries.map(([name, tags]) => [name, Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : null]),
	);
}

/** A list with an entry that is none at all is still the API's; one of nothing else is another program's. */
function expectEntries(response: AnswerHeaders, body: unknown): readonly unknown[] {
	if (!Array.isArray(body) || (body.length > 0 && !body.some(isObject))) throw notJson(response);
	if (body.length > ENTRIES_MAX) throw tooMany(ENTRIES_MAX);
	return body;
}

function tooMany(entriesMax: number): Error {
	return new Error(`its response has more than ${entriesMax} entries: check that this address is Consul`);
}

function expectIndex({ headers }: AnswerHeaders): number {
	const index = parseIndex(headers['x-consul-index']);
	if (index === undefined) throw new Error('its response has no X-Consul-Index');
	return index;
}

function isObject(value: unknown): value is object {
	return typeof value === 'object' && value !== null;
}

function isListOrNull(value: unknown): boolean {
	return value === null || Array.isArray(value);
}
