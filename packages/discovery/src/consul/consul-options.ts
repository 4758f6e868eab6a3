import type { Clock, Random } from '@spock/protocol/internal';

import type { DiscoveryListener } from '../discovery-event.ts';
import { parseConsulAddress } from './consul-address.ts';
import type { ConsulHttp } from './consul-http.ts';
import type { TaggedAddress } from './health-entry.ts';

/** Where Consul's agent listens unless told otherwise. */
export const DEFAULT_CONSUL_ADDRESS = 'http://127.0.0.1:8500';
/** How long a blocking query blocks: short of the minute after which proxies like to cut connections. */
export const DEFAULT_CONSUL_WAIT_MS = 55_000;

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
	/** A file that holds the bearer token; read for every login. Default {@link DEFAULT_BEARER_TOKEN_FILE}. */
	readonly tokenFile?: string;
	/** Kept with the token in Consul, for whoever looks at it there. */
	readonly meta?: Readonly<Record<string, string>>;
}

/** Where Kubernetes puts a pod's service-account token. */
export const DEFAULT_BEARER_TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Which servers may answer. `stale`: any; `default`: the leader, nearly always; `consistent`: the leader, verified. */
export type ConsulConsistency = 'stale' | 'default' | 'consistent';

/** How to reach Consul, and as whom: for everything that is asked of it. */
export interface ConsulConnectionOptions {
	/** Consul's HTTP addresses; the next one is used when one fails. Default `http://127.0.0.1:8500`. */
	readonly addresses?: readonly string[];
	/** An ACL token; never logged, and in no error. */
	readonly token?: string;
	/**
	 * A file that holds the token; read for every query, so that it may rotate. Wins over `token`, which is used until the file
	 * has been good once. While it is missing, empty or no token, the last good one stays in force and `onEvent` is told.
	 */
	readonly tokenFile?: string;
	/** Logs in for a token, again before it expires or when Consul does not know it any more, and out at the end. Wins over both. */
	readonly login?: ConsulLoginOptions;
	readonly tls?: ConsulTls;
	/** Default: the agent's own. */
	readonly datacenter?: string;
	/** Consul Enterprise. */
	readonly namespace?: string;
	readonly partition?: string;
	/** Default `stale`: any server may answer, so discovery survives the loss of the leader. */
	readonly consistency?: ConsulConsistency;
	/** How long a blocking query may block, in milliseconds, 1000 to 600000. Default 55000. */
	readonly waitMs?: number;
	/**
	 * Queries for services that are held at each address, each on a connection of its own, 1 to 10000; 40 connections more are for
	 * other things. More than 150 only where Consul's `http_max_conns_per_client` (200) allows it. Default 150.
	 */
	readonly heldMax?: number;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
	/** Default `Math.random`. */
	readonly random?: Random;
	readonly onEvent?: DiscoveryListener;
}

/** Options of {@link consulBackend}. */
export interface ConsulBackendOptions extends ConsulConnectionOptions {
	/**
	 * Lets the agent answer from its cache, which it refreshes in the background: for a local agent that many processes ask. The
	 * age of such an answer is added to what is known of its freshness. Not with `consistent`. Default false.
	 * Source: https://developer.hashicorp.com/consul/api-docs/features/caching
	 */
	readonly cached?: boolean;
	/**
	 * A node by whose distance Consul sorts its answers, `_agent` for the one that is asked. Snapshots are sorted by instance, so
	 * it matters to what stands between here and Consul alone. Default: none.
	 */
	readonly near?: string;
	/**
	 * Which of the addresses of an instance to use. Where it has none of that tag: its own, then its node's of that tag, then its
	 * node's. Default: its own, then its node's.
	 */
	readonly taggedAddress?: TaggedAddress;
	/**
	 * Most queries a minute for all services together for which no query is held ({@link ConsulConnectionOptions.heldMax}), 2 to
	 * 1000000. What cannot be confirmed in time within it is not called live. Default 3000.
	 */
	readonly sharedQueriesPerMinuteMax?: number;
	/**
	 * A connection that others use as well; what says how to reach Consul then stands there, and whoever made it closes it.
	 * Default: one of its own.
	 */
	readonly http?: ConsulHttp;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The options that Consul's own environment variables ask for. Pure: the environment is given. Throws a TypeError that
 * names the variable. Source: https://developer.hashicorp.com/consul/commands#environment-variables
 */
export function consulOptionsFromEnvironment(env: Environment): ConsulBackendOptions {
	const value = (name: string): string | undefined => env[name] || undefined;
	const secure = flag(env, 'CONSUL_HTTP_SSL') ?? false;
	const addressText = value('CONSUL_HTTP_ADDR');
	const addresses = addressText
		?.split(',')
		.filter((text) => text.trim() !== '')
		.map((text) => parseConsulAddress(text, secure).url);
	const caFile = value('CONSUL_CACERT');
	const caPath = value('CONSUL_CAPATH');
	const certFile = value('CONSUL_CLIENT_CERT');
	const keyFile = value('CONSUL_CLIENT_KEY');
	const serverName = value('CONSUL_TLS_SERVER_NAME');
	const verify = flag(env, 'CONSUL_HTTP_SSL_VERIFY');
	const tls: ConsulTls = {
		...(caFile && { caFile }),
		...(caPath && { caPath }),
		...(certFile && { certFile }),
		...(keyFile && { keyFile }),
		...(serverName && { serverName }),
		...(verify !== undefined && { verify }),
	};
	const token = value('CONSUL_HTTP_TOKEN');
	const tokenFile = value('CONSUL_HTTP_TOKEN_FILE');
	const namespace = value('CONSUL_NAMESPACE');
	const partition = value('CONSUL_PARTITION');
	return {
		...(addresses?.length && { addresses }),
		...(token && { token }),
		...(tokenFile && { tokenFile }),
		...(Object.keys(tls).length > 0 && { tls }),
		...(namespace && { namespace }),
		...(partition && { partition }),
	};
}

function flag(env: Environment, name: string): boolean | undefined {
	const text = env[name];
	if (text === undefined || text === '') return undefined;
	if (/^(?:1|t|true)$/i.test(text)) return true;
	if (/^(?:0|f|false)$/i.test(text)) return false;
	throw new TypeError(`${name} must be true or false, not ${JSON.stringify(text)}`);
}
