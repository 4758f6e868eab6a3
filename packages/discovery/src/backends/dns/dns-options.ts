import {
	type Clock,
	durationMsOption,
	integerOption,
	oneOfOption,
	type Random,
	stringOption,
	systemClock,
} from '@spock/protocol/internal';

import type { DiscoveryListener } from '../../foundation/discovery-event.ts';
import { DnsServers, systemServers } from './dns-servers.ts';
import { DEFAULT_NAME_TEMPLATE, NameTemplate } from './name-template.ts';

/** A question is not asked again before this, whatever its records say: Consul's say 0. */
export const DEFAULT_DNS_TTL_MS_MIN = 1000;
export const DEFAULT_DNS_PROTOCOL = 'udp';
/** A question is asked again after this, whatever its records say. */
export const DEFAULT_DNS_TTL_MS_MAX = 60_000;
/** Longest time for which "no such name" is believed: a service that appears must be seen soon. */
export const DEFAULT_DNS_NEGATIVE_TTL_MS_MAX = 10_000;
export const DEFAULT_DNS_TIMEOUT_MS = 5000;
export const DEFAULT_DNS_ATTEMPT_TIMEOUT_MS = 2000;

/** Options of {@link dnsBackend}. Durations are in milliseconds. */
export interface DnsBackendOptions {
	/**
	 * Name servers as `address`, `address:port` or `[ipv6]:port`; the next is asked when one fails. A function is called again after a
	 * failure, and every 5 s while there are queries. Default: those of the system, as /etc/resolv.conf names them at the time.
	 */
	readonly servers?: readonly string[] | (() => readonly string[]);
	/**
	 * The name whose SRV records are a service's instances: text with `{service}`, and `{tag}` and `{datacenter}` where
	 * queries may have them; what stands in square brackets with a value is left out when there is none. Default Consul's:
	 * `[{tag}.]{service}.service[.{datacenter}.dc].consul`. Kubernetes: `_http._tcp.{service}.default.svc.cluster.local`.
	 */
	readonly nameTemplate?: string;
	/** `udp` (default) asks over TCP for what is too long for UDP, or may be. `tcp` always does. */
	readonly protocol?: 'udp' | 'tcp';
	/** How long an answer over UDP may be, in bytes, 1024 to 65000. Default: 65000 for a server on this machine, else 1232. */
	readonly udpPayloadBytes?: number;
	/** A question is asked again when its records end, but not before this. Default 1000. */
	readonly ttlMsMin?: number;
	/** A question is asked again after this at the latest. Default 60000; at least `ttlMsMin`. */
	readonly ttlMsMax?: number;
	/** Longest time for which "no such name" is believed. Default 10000; at least `ttlMsMin`. */
	readonly negativeTtlMsMax?: number;
	/** Deadline of a question over all its attempts. Default 5000. */
	readonly timeoutMs?: number;
	/** Deadline of one attempt at one server. Default 2000. */
	readonly attemptTimeoutMs?: number;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** For jitter. Default `Math.random`. */
	readonly random?: Random;
	readonly onEvent?: DiscoveryListener;
}

/** Every option with its value. */
export interface ResolvedDnsOptions
	extends Required<Omit<DnsBackendOptions, 'servers' | 'nameTemplate' | 'udpPayloadBytes'>> {
	readonly udpPayloadBytes: number | undefined;
	readonly servers: DnsServers;
	readonly template: NameTemplate;
}

/** Checks the options and fills in the defaults. Throws a TypeError or RangeError naming the option that is wrong. */
export function resolveDnsOptions(options: DnsBackendOptions): ResolvedDnsOptions {
	const { servers = systemServers, nameTemplate = DEFAULT_NAME_TEMPLATE, clock = systemClock } = options;
	const ttlMsMin = durationMsOption('ttlMsMin', options.ttlMsMin ?? DEFAULT_DNS_TTL_MS_MIN);
	const atLeast = (name: 'ttlMsMax' | 'negativeTtlMsMax', byDefault: number): number =>
		durationMsOption(name, options[name] ?? Math.max(byDefault, ttlMsMin), ttlMsMin);
	return Object.freeze({
		servers: new DnsServers(servers, clock),
		template: new NameTemplate(stringOption('nameTemplate', nameTemplate)),
		protocol: oneOfOption('protocol', options.protocol ?? DEFAULT_DNS_PROTOCOL, ['udp', 'tcp']),
		udpPayloadBytes:
			options.udpPayloadBytes === undefined
				? undefined
				: integerOption('udpPayloadBytes', options.udpPayloadBytes, 1024, 65_000),
		ttlMsMin,
		ttlMsMax: atLeast('ttlMsMax', DEFAULT_DNS_TTL_MS_MAX),
		negativeTtlMsMax: atLeast('negativeTtlMsMax', DEFAULT_DNS_NEGATIVE_TTL_MS_MAX),
		timeoutMs: durationMsOption('timeoutMs', options.timeoutMs ?? DEFAULT_DNS_TIMEOUT_MS),
		attemptTimeoutMs: durationMsOption('attemptTimeoutMs', options.attemptTimeoutMs ?? DEFAULT_DNS_ATTEMPT_TIMEOUT_MS),
		clock,
		random: options.random ?? Math.random,
		onEvent: options.onEvent ?? (() => undefined),
	});
}
