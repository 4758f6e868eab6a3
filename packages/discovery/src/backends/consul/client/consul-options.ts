import type { Clock, Random } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../../../foundation/discovery-event.ts';

/** Where Consul's agent listens unless told otherwise. */
export const DEFAULT_CONSUL_ADDRESS = 'http://127.0.0.1:8500';
/** How long a blocking query blocks: short of the minute after which proxies like to cut connections. */
export const DEFAULT_CONSUL_WAIT_MS = 55_000;
/**
 * Queries for services that one address holds. A Consul agent allows 200 connections from one client, whatever they are for.
 * Source: https://developer.hashicorp.com/consul/docs/agent/config/config-files#http_max_conns_per_client
 */
export const DEFAULT_HELD_MAX = 150;

/** TLS to Consul. */
export interface ConsulTls {
	/** Files in PEM form; new connections are made with what they say when they change. While they are bad, with what was good. */
	readonly caFile?: string;
	/** A directory of such files, each a certificate of an authority; not used where `caFile` is given, as Consul's own client does. */
	readonly caPath?: string;
	readonly certFile?: string;
	readonly keyFile?: string;
	/** The name to expect in the server's certificate. */
	readonly serverName?: string;
	/** Whether to verify the server's certificate. Default true. */
	readonly verify?: boolean;
}

/** A login for a token, with the token of somebody else: of a Kubernetes service account, or any JWT that the method takes. */
export interface ConsulLoginOptions {
	/** The name of the auth method in Consul. */
	readonly method: string;
	/** A file that holds the bearer token; read for every login. Default: that of the pod, `/var/run/secrets/kubernetes.io/serviceaccount/token`. */
	readonly tokenFile?: string;
	/** Kept with the token in Consul, for whoever looks at it there. */
	readonly meta?: Readonly<Record<string, string>>;
}

/** Where Kubernetes puts a pod's service-account token. */
export const DEFAULT_BEARER_TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Which servers may answer. `stale`: any; `default`: the leader, nearly always; `consistent`: the leader, verified. */
export type ConsulConsistency = 'stale' | 'default' | 'consistent';

export const DEFAULT_CONSUL_CONSISTENCY: ConsulConsistency = 'stale';

/** How to reach Consul, and as whom: for everything that is asked of it. */
export interface ConsulConnectionOptions {
	/** Consul's HTTP addresses; the next one is used when one fails. Default `http://127.0.0.1:8500`. */
	readonly addresses?: readonly string[];
	/** An ACL token, of printable ASCII characters without spaces; never logged, and in no error. */
	readonly token?: string;
	/**
	 * A file that holds the token; read for every query, so that it may rotate. Wins over `token`, which is used until the file
	 * has been good once. While it is missing, empty or no token, the last good one stays in force and `onEvent` is told.
	 */
	readonly tokenFile?: string;
	/** Logs in for a token, again before it expires or when Consul does not know it any more, and out at the end. Wins over both. */
	readonly login?: ConsulLoginOptions;
	/** `USER:PASSWORD` for a proxy in front of Consul that asks for it (HTTP basic authentication). Default: none. */
	readonly basicAuth?: string;
	readonly tls?: ConsulTls;
	/** Default: the agent's own. */
	readonly datacenter?: string;
	/** Consul Enterprise. */
	readonly namespace?: string;
	readonly partition?: string;
	/** Default `stale`: any server may answer, so discovery survives the loss of the leader. */
	readonly consistency?: ConsulConsistency;
	/**
	 * How long a blocking query may block, in milliseconds, 1000 to 600000; less than what a proxy in front of Consul allows, which
	 * otherwise costs a query more for each wait that it ends. Default 55000.
	 */
	readonly waitMs?: number;
	/**
	 * Queries for services that are held at each address, 1 to 10000; without TLS each on a connection of its own, and 40 connections
	 * more are for other things. Default: 10000 where HTTP/2 is spoken; 4000 at an agent on this machine that is reached from further
	 * addresses of it; 40 below Consul's `http_max_conns_per_client` where that is more than 200 and may be read; else 150.
	 */
	readonly heldMax?: number;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Default `Math.random`. */
	readonly random?: Random;
	readonly onEvent?: DiscoveryListener;
}
