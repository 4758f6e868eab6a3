import {
	type KeyEntry,
	type KeyQuery,
	keyQueryKey,
	queryKey,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
} from '@spock/protocol';
import { isInteger, isObject } from '@spock/protocol/internal';

import { isStrings, readInstances } from '../foundation/good-instances.ts';
import { StateFileError } from './state-file.ts';

/** An answer that an earlier process kept, and when it was verified, in milliseconds since 1970. */
export interface KeptValue<V> {
	readonly value: V;
	readonly verifiedAt: number;
}

/** The stored answer to one query. */
export interface KeptInstances {
	readonly instances: readonly ServiceInstance[];
	/** When the registry last confirmed them, in milliseconds since 1970. */
	readonly verifiedAt: number;
}

/** The stored list of services. */
export interface KeptList {
	readonly services: readonly ServiceListEntry[];
	readonly verifiedAt: number;
}

/** The body of a query's file. */
export function instancesBody(query: ServiceQuery, { instances, verifiedAt }: KeptInstances): unknown {
	return { key: queryKey(query), verifiedAt, instances };
}

/** Reads the body of a query's file, without invalid instances. Throws a StateFileError for a body of another query or another format. */
export function readInstancesBody(body: unknown, query: ServiceQuery): KeptInstances {
	const { key, verifiedAt, instances } = isObject(body) ? body : {};
	if (key !== queryKey(query)) throw new StateFileError('foreign', 'it belongs to another query');
	if (!isInteger(verifiedAt, 0) || !Array.isArray(instances)) throw wrongShape();
	const read = readInstances(instances);
	// A file in another format must not be mistaken for a service without instances.
	if (read.length === 0 && instances.length > 0) throw wrongShape();
	return { verifiedAt, instances: read };
}

/** The body of a file about keys. */
export function keysBody(query: KeyQuery, { value, verifiedAt }: KeptValue<readonly KeyEntry[]>): unknown {
	return { key: keyQueryKey(query), verifiedAt, entries: value };
}

/** Reads the body of a file about keys. Throws a StateFileError, as {@link readInstancesBody} does. */
export function readKeysBody(body: unknown, query: KeyQuery): KeptValue<readonly KeyEntry[]> {
	const { key, verifiedAt, entries } = isObject(body) ? body : {};
	if (key !== keyQueryKey(query)) throw new StateFileError('foreign', 'it belongs to another query');
	if (!isInteger(verifiedAt, 0) || !Array.isArray(entries)) throw wrongShape();
	return { verifiedAt, value: Object.freeze(entries.map(readKeyEntry)) };
}

/** The body of a list's file. */
export function listBody(key: string, { services, verifiedAt }: KeptList): unknown {
	return { key, verifiedAt, services };
}

/** Reads the body of a list's file. Throws a StateFileError. */
export function readListBody(body: unknown, expectedKey: string): KeptList {
	const { key, verifiedAt, services } = isObject(body) ? body : {};
	if (key !== expectedKey) throw new StateFileError('foreign', 'it belongs to another datacenter');
	if (!isInteger(verifiedAt, 0) || !Array.isArray(services)) throw wrongShape();
	const read = services.flatMap((entry: unknown) => {
		if (!isObject(entry) || typeof entry['name'] !== 'string' || !isStrings(entry['tags'])) return [];
		return [{ name: entry['name'], tags: entry['tags'] }];
	});
	if (read.length === 0 && services.length > 0) throw wrongShape();
	return { verifiedAt, services: read };
}

/** Reads when which content was verified. Throws a StateFileError. */
export function readVerifiedBody(body: unknown): Map<string, number> {
	if (!isObject(body)) throw wrongShape();
	const entries = Object.entries(body);
	if (!entries.every(([, verifiedAt]) => isInteger(verifiedAt, 0))) throw wrongShape();
	return new Map(entries as [string, number][]);
}

function readKeyEntry(entry: unknown): KeyEntry {
	if (!isObject(entry)) throw wrongShape();
	const { key, value, encoding } = entry;
	if (typeof key !== 'string' || typeof value !== 'string') throw wrongShape();
	if (encoding !== undefined && encoding !== 'base64') throw wrongShape();
	return Object.freeze({ key, value, ...(encoding && { encoding }) });
}

function wrongShape(): StateFileError {
	return new StateFileError('foreign', 'its content does not have the expected shape');
}
