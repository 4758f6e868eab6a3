import type { IncomingMessage } from 'node:http';

import type { ServiceInstance, ServiceListEntry } from '@spock/protocol';

import { parseIndex } from '../blocking-index.ts';
import type { FetchAnswer } from '../watch-loop.ts';
import { notJson, refuseFiltered } from './consul-error.ts';
import { type HealthEntry, readHealthEntries } from './health-entry.ts';

type Response = Pick<IncomingMessage, 'headers'>;

/**
 * The answer of /v1/health/service. Throws an Error where the body is not the API's or X-Consul-Index is missing, and
 * ACL_DENIED where everything was filtered from it.
 */
export function readAnsweredInstances(response: Response, body: unknown): FetchAnswer<readonly ServiceInstance[]> {
	if (!Array.isArray(body) || !body.every(isObject)) throw notJson(response);
	const index = parseIndex(response.headers['x-consul-index']);
	if (index === undefined) throw new Error('its answer has no X-Consul-Index');
	if (body.length === 0) refuseFiltered(response);
	return { value: readHealthEntries(body as HealthEntry[]), index };
}

/** The answer of /v1/catalog/services, sorted by name. Throws as {@link readAnsweredInstances} does. */
export function readAnsweredServices(response: Response, body: unknown): readonly ServiceListEntry[] {
	if (!isObject(body) || Array.isArray(body) || !Object.values(body).every(isListOrNull)) throw notJson(response);
	const services = Object.entries(body as Record<string, readonly string[] | null>)
		.map(([name, tags]) => ({ name, tags: [...(tags ?? [])].sort() }))
		.sort((left, right) => (left.name < right.name ? -1 : 1));
	if (services.length === 0) refuseFiltered(response);
	return services;
}

function isObject(value: unknown): value is object {
	return typeof value === 'object' && value !== null;
}

function isListOrNull(value: unknown): boolean {
	return value === null || Array.isArray(value);
}
