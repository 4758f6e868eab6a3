import { parseConsulAddress } from './client/consul-address.ts';
import type { ConsulConnectionOptions, ConsulTls } from './client/consul-options.ts';
import type { ConsulHttp } from './http/consul-http.ts';
import type { TaggedAddress } from './watches/health-entry.ts';

/** Options of {@link consulBackend}. */
export interface ConsulBackendOptions extends ConsulConnectionOptions {
	/**
	 * Lets the agent answer from its cache, which it refreshes in the background: for a local agent that many processes ask. The
	 * age of such an answer is added to what is known of its freshness. Not with `consistent`. Default false.
	 * Source: https://developer.hashicorp.com/consul/api-docs/features/caching
	 */
	readonly cached?: boolean;
	/**
	 * Which of the addresses of an instance to use. Where it has none of that tag: its own, then its node's of that tag, then its
	 * node's. Default: its own, then its node's.
	 */
	readonly taggedAddress?: TaggedAddress;
	/**
	 * Most queries a minute for all services together that are polled, because there is no room to hold a query for each
	 * ({@link ConsulConnectionOptions.heldMax}), 2 to 1000000. What cannot be confirmed in time within it is not called live. Default
	 * 3000.
	 */
	readonly pollsPerMinuteMax?: number;
	/**
	 * A connection that others use as well. It then has the options for reaching Consul, and its creator closes it.
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
	// With the end of the line that `echo` and secrets of Kubernetes leave behind it.
	const token = value('CONSUL_HTTP_TOKEN')?.trim();
	const tokenFile = value('CONSUL_HTTP_TOKEN_FILE');
	const basicAuth = value('CONSUL_HTTP_AUTH')?.trim();
	const namespace = value('CONSUL_NAMESPACE');
	const partition = value('CONSUL_PARTITION');
	return {
		...(addresses?.length && { addresses }),
		...(token && { token }),
		...(tokenFile && { tokenFile }),
		...(basicAuth && { basicAuth }),
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
