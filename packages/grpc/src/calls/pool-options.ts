import type { ChannelCredentials, ChannelOptions, Client, ClientOptions } from '@grpc/grpc-js';
import type { AcquireOptions, Diplomat, ServiceAddress, ServiceQuery } from '@spock/client';
import { diplomatOption } from '@spock/client/integrations';
import { normaliseQuery, validateQuery } from '@spock/protocol';
import { booleanOption, durationMsOption, integerOption, knownMembers } from '@spock/protocol/internal';

/** How long a channel may have no call before it is closed, in milliseconds. */
export const DEFAULT_CHANNEL_IDLE_MS = 300_000;

/** A class of clients: what `loadPackageDefinition` gives, what is generated, or `grpc.Client` itself. */
export type ClientClass<C extends Client> = new (
	target: string,
	credentials: ChannelCredentials,
	options?: ClientOptions,
) => C;

/** Options of a GrpcPool. */
export interface GrpcPoolOptions<C extends Client> {
	/** Finds an instance for each call, by its own policy. The caller owns and closes it. */
	readonly diplomat: Diplomat;
	/** The service, or its name. */
	readonly service: string | ServiceQuery;
	/** What the clients are made of. Its copy of grpc-js is the one that calls. */
	readonly Client: ClientClass<C>;
	readonly credentials: ChannelCredentials;
	/**
	 * Options of each channel, or what gives them. A certificate is checked against the instance's host unless
	 * `grpc.ssl_target_name_override` is among them. Default: none.
	 */
	readonly channelOptions?: ChannelOptions | ((address: ServiceAddress, query: ServiceQuery) => ChannelOptions);
	/**
	 * A channel that has had no call for so long is closed, and made again when its instance is called again, in milliseconds.
	 * Default 300,000.
	 */
	readonly channelIdleMs?: number;
}

/** Options of one call through a GrpcPool: how its instance is found, and whether it may be repeated. */
export interface PoolCallOptions extends Omit<AcquireOptions, 'exclude'> {
	/** True: it may be made twice, and is made again, through another instance, after UNAVAILABLE. Default false. */
	readonly idempotent?: boolean;
	/** Most calls after the first, if it is idempotent. Default 2, 0 to 100. */
	readonly retriesMax?: number;
}

const POOL_OPTIONS: readonly string[] = [
	'diplomat',
	'service',
	'Client',
	'credentials',
	'channelOptions',
	'channelIdleMs',
];
const CALL_OPTIONS: readonly string[] = ['idempotent', 'retriesMax', 'key', 'timeoutMs', 'signal', 'maxAgeMs', 'fresh'];
const CALL_OPTION_NAMES: ReadonlySet<string> = new Set(CALL_OPTIONS);

/** Options of a pool that were looked at. */
export interface ResolvedPoolOptions<C extends Client> extends Required<Omit<GrpcPoolOptions<C>, 'service'>> {
	readonly query: ServiceQuery;
}

/** Throws a TypeError or RangeError naming the option, or BAD_REQUEST for what is no service. */
export function poolOptions<C extends Client>(options: GrpcPoolOptions<C>): ResolvedPoolOptions<C> {
	knownMembers('option', options, POOL_OPTIONS);
	const { service, Client, credentials, channelOptions = {}, channelIdleMs = DEFAULT_CHANNEL_IDLE_MS } = options;
	const diplomat = diplomatOption(options.diplomat);
	if (service === undefined) throw new TypeError('service must be the name of a service, or a query; it is missing');
	const query = normaliseQuery(validateQuery(typeof service === 'string' ? { service } : service));
	if (typeof Client !== 'function') throw new TypeError(`Client must be a class of clients, not ${String(Client)}`);
	if (typeof credentials?.compose !== 'function') {
		throw new TypeError('credentials must be ChannelCredentials, such as credentials.createInsecure()');
	}
	if (typeof channelOptions !== 'function' && (typeof channelOptions !== 'object' || channelOptions === null)) {
		throw new TypeError(`channelOptions must be an object or a function, not ${String(channelOptions)}`);
	}
	durationMsOption('channelIdleMs', channelIdleMs);
	return Object.freeze({ diplomat, query, Client, credentials, channelOptions, channelIdleMs });
}

/** Throws a TypeError or RangeError naming the option. Those of the lookup the Diplomat looks at. */
export function checkPoolCall(call: unknown, options: PoolCallOptions): void {
	if (typeof call !== 'function') {
		throw new TypeError('call must be a function that is given a client and returns a promise');
	}
	for (const name in options) if (!CALL_OPTION_NAMES.has(name)) knownMembers('option', options, CALL_OPTIONS);
	const { idempotent, retriesMax } = options;
	if (idempotent !== undefined) booleanOption('idempotent', idempotent);
	if (retriesMax !== undefined) integerOption('retriesMax', retriesMax, 0, 100);
}
