import {
	type KeyQuery,
	normaliseKeyQuery,
	normaliseQuery,
	type ReadOptions,
	type ServiceQuery,
	TIMEOUT_MS_MAX,
	validateKeyQuery,
	validateQuery,
} from '@spock/protocol';
import {
	durationMsOption,
	integerOption,
	knownMembers,
	queryMembers,
	signalOption,
	stringOption,
	wrongType,
} from '@spock/protocol/internal';
import type { ResolvedOptions } from '../foundation/options.ts';

/** Options of one lookup. */
export interface LookupOptions extends ReadOptions {
	/** True: ask the sidecar instead of the snapshot in this process. Default false. */
	readonly fresh?: boolean;
}

/** Options of `getService`. */
export interface GetServiceOptions extends LookupOptions {
	/** Lookups with equal keys get the same instance while it serves, under every policy. Default: none. */
	readonly key?: string;
}

/** Options of `acquire`. */
export interface AcquireOptions extends GetServiceOptions {
	/** Instances, by `address.instance`, that are not picked unless no other serves. Default: none. */
	readonly exclude?: ReadonlySet<string> | undefined;
}

/** Options of `pick` and `tryAcquire`. */
export type PickNowOptions = Pick<AcquireOptions, 'key' | 'maxAgeMs' | 'exclude'>;

/** A service by its name, or with tags and datacenter. */
export type ServiceOrQuery = ServiceName | KnownServiceQuery;

/** The query of a service, normalised. Throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function toQuery(service: string | ServiceQuery): ServiceQuery {
	if (typeof service === 'string') return normaliseQuery(validateQuery({ service }));
	checkMembers(service);
	const query = validateQuery(service);
	return normaliseQuery(query);
}

/** A key by its name, or with a datacenter. */
export type KeyOrQuery = string | (KeyQuery & { readonly prefix?: false });

/** All keys that begin with `key`. */
export type PrefixQuery = KeyQuery & { readonly prefix: true };

/** The query of a key or prefix, normalised. Throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function toKeyQuery(key: string | KeyQuery): KeyQuery {
	return normaliseKeyQuery(validateKeyQuery(typeof key === 'string' ? { key } : key));
}

/** The members of a query for a service. */
export const QUERY_MEMBERS: readonly string[] = ['service', ...queryMembers.map(({ name }) => name)];

/** Throws a TypeError for what is no query, and for an unknown member: ignoring it would answer a different query. */
export function checkMembers(query: ServiceQuery): void {
	if (typeof query !== 'object' || query === null || Array.isArray(query)) {
		throw wrongType('service', `a name, or an object with ${QUERY_MEMBERS.join(', ')}`, query);
	}
	for (const name in query) if (!QUERY_MEMBERS.includes(name)) knownMembers('member', query, QUERY_MEMBERS);
}

const CALL_OPTIONS: readonly string[] = ['timeoutMs', 'signal', 'maxAgeMs', 'fresh', 'key', 'exclude'];

/** Throws a RangeError or a TypeError naming the option and its value. */
export function checkCallOptions(options: ReadOptions & Pick<GetServiceOptions, 'key'>): void {
	if (options === null) knownMembers('option', options, CALL_OPTIONS);
	for (const name in options) if (!CALL_OPTIONS.includes(name)) knownMembers('option', options, CALL_OPTIONS);
	const { timeoutMs, signal, maxAgeMs, key } = options;
	if (timeoutMs !== undefined) durationMsOption('timeoutMs', timeoutMs);
	if (signal !== undefined) signalOption('signal', signal);
	if (maxAgeMs !== undefined) integerOption('maxAgeMs', maxAgeMs, 0, TIMEOUT_MS_MAX);
	if (key !== undefined) stringOption('key', key);
}

/** The options that every source understands, the deadline always among them. */
export function sourceOptions(
	{ timeoutMs, signal, maxAgeMs }: ReadOptions,
	{ timeoutMs: defaultMs }: Pick<ResolvedOptions, 'timeoutMs'>,
): ReadOptions {
	return { timeoutMs: timeoutMs ?? defaultMs, signal, maxAgeMs };
}

/**
 * The known services, as names of members. Empty here: `sidecar typegen` writes a file that fills it by a module
 * augmentation, so that unknown names fail to compile.
 *
 *     declare module '@spock/client' {
 *       interface KnownServices { barista: true }
 *     }
 */
// biome-ignore lint/suspicious/noEmptyInterface: it is there to be augmented.
export interface KnownServices {}

/** The name of a service: one of {@link KnownServices}; any text while those are empty. */
export type ServiceName = keyof KnownServices extends never ? string : Extract<keyof KnownServices, string>;

/** A query for a service with a known name. */
export interface KnownServiceQuery extends ServiceQuery {
	readonly service: ServiceName;
}
