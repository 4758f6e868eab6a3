import { type LookupAddress, type LookupOptions, lookup as lookUpDns, V4MAPPED } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';

import { type Diplomat, type ServiceQuery, SpockError } from '@spock/client';
import {
	diplomatOption,
	NameRule,
	type NameRuleOptions,
	servedInstances,
	serviceError,
} from '@spock/client/integrations';
import { knownMembers } from '@spock/protocol/internal';

/** Most addresses of one service that are given for `all: true`. */
const ADDRESSES_MAX = 16;

const OPTIONS: readonly string[] = ['diplomat', 'suffix', 'query', 'services'];

/** Options of {@link discoveryLookup}. */
export interface DiscoveryLookupOptions extends NameRuleOptions {
	/** Finds the instances. The caller owns and closes it. */
	readonly diplomat: Diplomat;
}

type Family = 0 | 4 | 6;
type Callback = (error: Error | null, address?: string | LookupAddress[], family?: number) => void;
type AllCallback = (error: Error | null, addresses: LookupAddress[]) => void;

/** `dns.lookup` in its three forms; what takes a `lookup` option calls the last one. */
export interface DiscoveryLookup extends LookupFunction {
	(hostname: string, callback: (error: Error | null, address: string, family: number) => void): void;
	(hostname: string, family: number, callback: (error: Error | null, address: string, family: number) => void): void;
	(hostname: string, options: LookupOptions, callback: Parameters<LookupFunction>[2]): void;
}

/**
 * A function for whatever takes a `lookup` as of `dns.lookup`: `net.connect`, `http.request`, and so on. `barista.spock` is
 * an instance of `barista`, and with `all: true` that one first and then the others that serve; other hosts go to `dns.lookup`.
 *
 * A lookup gives an address and no port: the caller must know the port, and every instance must have the same. It is asked
 * once for each connection and not for each request, so kept connections stay with their instance; and no
 * outcome is reported. For HTTP take `DiscoveryAgent`.
 *
 * Calls back with the SpockError that `diplomat.getService` rejects with, or with UNAVAILABLE if no instance has an address
 * of the family that is asked for; both name the service.
 */
export function discoveryLookup(options: DiscoveryLookupOptions): DiscoveryLookup {
	knownMembers('option', options, OPTIONS);
	const diplomat = diplomatOption(options.diplomat);
	const rule = new NameRule(options);
	function lookup(hostname: string, given: LookupOptions | number | Callback, last?: unknown): void {
		const callback = (typeof given === 'function' ? given : last) as Callback;
		const wanted = typeof given === 'number' ? { family: given } : typeof given === 'function' ? {} : (given ?? {});
		if (typeof callback !== 'function') throw new TypeError('lookup needs a callback');
		answer(diplomat, rule, hostname, wanted).then(
			(found) => callUnhandled(() => tell(found, wanted, callback)),
			(error: Error) => callUnhandled(() => callback(error)),
		);
	}
	return lookup as DiscoveryLookup;
}

/** What the callback throws is its own, as it is from `dns.lookup`, and no rejection. */
function callUnhandled(call: () => void): void {
	process.nextTick(call);
}

function tell(found: readonly LookupAddress[], { all }: LookupOptions, callback: Callback): void {
	const [first] = found as [LookupAddress, ...LookupAddress[]];
	if (all === true) (callback as AllCallback)(null, [...found]);
	else callback(null, first.address, first.family);
}

/** At least one address. */
async function answer(
	diplomat: Diplomat,
	rule: NameRule,
	hostname: string,
	options: LookupOptions,
): Promise<readonly LookupAddress[]> {
	const query = rule.query(hostname);
	if (query === undefined) return lookUpHost(hostname, options);
	const hosts = await hostsOf(diplomat, query, options).catch((error: unknown) => {
		throw serviceError(query, error);
	});
	return lookUpHosts(query, hosts.slice(0, ADDRESSES_MAX), options);
}

/** The hosts of instances, that of the picked one first; of the others only where they may be needed. */
async function hostsOf(diplomat: Diplomat, query: ServiceQuery, options: LookupOptions): Promise<readonly string[]> {
	const { host } = await diplomat.getService(query);
	if (options.all !== true && familyOf(options) === 0) return [host];
	const others = servedInstances(await diplomat.getInstances(query)).map((one) => one.host);
	// Instances may share a host: they differ in their port, of which a look-up knows nothing.
	return [...new Set([host, ...others])];
}

/** Those that the family allows, in their order. Names are looked up together: one that hangs holds up none after it. */
async function lookUpHosts(
	query: ServiceQuery,
	hosts: readonly string[],
	options: LookupOptions,
): Promise<readonly LookupAddress[]> {
	const looked = await Promise.allSettled(hosts.map((host) => lookUpHost(host, options)));
	const found = looked.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
	if (found.length > 0) return found;
	const cause: unknown = looked.findLast((one) => one.status === 'rejected')?.reason;
	const family = familyOf(options);
	const kind = family === 0 ? 'an address' : `an IPv${family} address`;
	const message = `no instance of ${JSON.stringify(query.service)} has ${kind}: ${hosts.join(', ')}`;
	throw new SpockError('UNAVAILABLE', message, { cause, details: { service: query.service, hosts } });
}

/** `dns.lookup`, and for IP addresses what it would say if it heeded the family. */
function lookUpHost(host: string, options: LookupOptions): Promise<readonly LookupAddress[]> {
	const is = isIP(host);
	const family = familyOf(options);
	if (is !== 0 && family !== 0 && is !== family) {
		const isMapped = family === 6 && ((options.hints ?? 0) & V4MAPPED) !== 0;
		return isMapped
			? Promise.resolve([{ address: `::ffff:${host}`, family: 6 }])
			: Promise.reject(new Error(`${host} is an IPv${is} address`));
	}
	return new Promise((resolve, reject) => {
		lookUpDns(host, { ...options, all: true }, (error, addresses) => {
			if (error === null) resolve(addresses);
			else reject(error);
		});
	});
}

function familyOf({ family = 0 }: LookupOptions): Family {
	if (family === 'IPv4' || family === 4) return 4;
	return family === 'IPv6' || family === 6 ? 6 : 0;
}
