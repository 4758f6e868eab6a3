import type { ServiceInstance } from '@spock/protocol';
import { isInteger, isObject } from '@spock/protocol/internal';

import { sortInstances } from '../../foundation/snapshot-diff.ts';
import { canonicalName, type DnsRecord, type DnsReply, isSameName } from './dns-message.ts';

/** Aliases on the way from the name asked for to its records; a longer chain is a loop. */
const ALIASES_MAX = 16;

/** One SRV record. Source: RFC 2782. */
export interface SrvRecord {
	readonly priority: number;
	readonly weight: number;
	readonly port: number;
	/** Lower case, without the dot at the end. */
	readonly target: string;
}

/** Records and how long they may be used, in seconds. */
export interface Timed<T> {
	readonly values: readonly T[];
	/** The shortest of all that led to them; undefined when there is none. */
	readonly ttl: number | undefined;
}

/** The SRV records of a name, through aliases. A target of "." says that there is no such service. */
export function readSrv(reply: DnsReply, name: string): Timed<SrvRecord> {
	const { records, ttl } = recordsOf(reply.answers, name, ['SRV']);
	const values: SrvRecord[] = [];
	for (const { data } of records) {
		const { priority, weight, port, target } = isObject(data) ? data : {};
		if (!isInteger(port, 0, 65_535) || typeof target !== 'string' || canonicalName(target) === '') continue;
		// One record without a priority would decide who serves of all others.
		if (!isInteger(priority, 0) || !isInteger(weight, 0)) continue;
		values.push({ priority, weight, port, target: canonicalName(target) });
	}
	return { values, ttl };
}

/** The addresses of a host among the records, IPv4 ones if there are any. */
export function readAddresses(records: readonly DnsRecord[], host: string): Timed<string> {
	const v4 = recordsOf(records, host, ['A']);
	const { records: found, ttl } = v4.records.length > 0 ? v4 : recordsOf(records, host, ['AAAA']);
	return { values: [...new Set(found.map(({ data }) => String(data)))].sort(), ttl };
}

/**
 * How long it may be believed that there are no records, in seconds; undefined when the server did not say.
 * Source: RFC 2308 section 5.
 */
export function negativeTtl({ authorities }: DnsReply): number | undefined {
	const soa = authorities.find(({ type }) => type === 'SOA');
	if (soa === undefined) return undefined;
	const { minimum } = isObject(soa.data) ? soa.data : {};
	return typeof minimum === 'number' ? Math.min(soa.ttl, minimum) : soa.ttl;
}

/** What the query had that every answer to it has. */
export interface Asked {
	readonly tags?: readonly string[];
	readonly datacenter?: string;
}

/**
 * Instances from SRV records and the addresses of their targets. Those of the lowest priority serve; the others are
 * `maintenance` with meta `standby`, because RFC 2782 gives them work only when no lower one is left. All weights 0 means
 * that the records make no difference: then each is 1. Sorted and frozen.
 */
export function instancesOf(
	records: readonly SrvRecord[],
	addressesOf: ReadonlyMap<string, readonly string[]>,
	asked: Asked,
): readonly ServiceInstance[] {
	const reachable = records.filter(({ target }) => (addressesOf.get(target) ?? []).length > 0);
	const lowest = Math.min(...reachable.map(({ priority }) => priority));
	const isWeighted = reachable.some(({ weight }) => weight > 0);
	const tags = Object.freeze([...(asked.tags ?? [])]);
	const instances = new Map<string, ServiceInstance>();
	for (const { priority, weight, port, target } of reachable) {
		const serves = priority === lowest;
		const meta = Object.freeze({ priority: String(priority), target, ...(!serves && { standby: 'true' }) });
		for (const host of addressesOf.get(target) ?? []) {
			const instance = `${target}:${port}/${host}`;
			// The same record twice is one instance; the better priority counts.
			if ((instances.get(instance)?.status ?? 'maintenance') === 'passing') continue;
			instances.set(
				instance,
				Object.freeze({
					instance,
					host,
					port,
					weight: isWeighted ? weight : 1,
					status: serves ? 'passing' : 'maintenance',
					tags,
					meta,
					zone: null,
					datacenter: asked.datacenter ?? null,
				}),
			);
		}
	}
	return sortInstances([...instances.values()]);
}

function recordsOf(
	all: readonly DnsRecord[],
	name: string,
	types: readonly string[],
): { readonly records: readonly DnsRecord[]; readonly ttl: number | undefined } {
	let owner = name;
	let ttl: number | undefined;
	const soonest = (next: number): number => Math.min(ttl ?? next, next);
	for (let aliases = 0; aliases <= ALIASES_MAX; aliases++) {
		const records = all.filter((record) => types.includes(record.type) && isSameName(record.name, owner));
		if (records.length > 0) {
			for (const record of records) ttl = soonest(record.ttl);
			return { records, ttl };
		}
		const alias = all.find((record) => record.type === 'CNAME' && isSameName(record.name, owner));
		if (alias === undefined) break;
		ttl = soonest(alias.ttl);
		owner = String(alias.data);
	}
	return { records: [], ttl: undefined };
}
