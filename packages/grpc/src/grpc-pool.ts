import { type ChannelCredentials, type ChannelOptions, type Client, type ClientOptions, status } from '@grpc/grpc-js';
import type { AcquireOptions, CallOutcome, Diplomat, Lease, ServiceAddress, ServiceQuery } from '@spock/client';
import { failedInstances, InstanceResources, instanceError, outcomeOf, retry } from '@spock/client/integrations';
import { formatAddress } from '@spock/protocol/node';

import { callOutcome } from './call-outcome.ts';
import { PooledClient } from './pooled-client.ts';

/** A class of clients: what `loadPackageDefinition` gives, what is generated, or `grpc.Client` itself. */
export type ClientClass<C extends Client> = new (
	target: string,
	credentials: ChannelCredentials,
	options?: ClientOptions,
) => C;

/** Options of {@link GrpcPool}. */
export interface GrpcPoolOptions<C extends Client> {
	/** Finds an instance for each call, by its own policy. It stays its owner's: the pool does not close it. */
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
}

/** Options of one call through a {@link GrpcPool}: how its instance is found, and whether it may be repeated. */
export interface PoolCallOptions extends Omit<AcquireOptions, 'exclude'> {
	/** True: it may be made twice, and is made again, through another instance, after UNAVAILABLE. Default false. */
	readonly idempotent?: boolean;
	/** Most calls after the first, if it is idempotent. Default 2. */
	readonly retriesMax?: number;
}

/**
 * Clients of one service, a channel for each instance. Each call finds its instance by the Diplomat's policy (least-in-flight
 * too) and is reported to it. The channel of an instance that has left is closed once its calls have ended.
 */
export class GrpcPool<C extends Client> implements AsyncDisposable {
	readonly #diplomat: Diplomat;
	readonly #query: ServiceQuery;
	readonly #clients: InstanceResources<PooledClient<C>>;

	constructor(options: GrpcPoolOptions<C>) {
		const { diplomat, service, Client, credentials, channelOptions = {} } = options;
		this.#diplomat = diplomat;
		this.#query = typeof service === 'string' ? { service } : service;
		this.#clients = new InstanceResources({
			diplomat,
			create: (address, query) => {
				const own = typeof channelOptions === 'function' ? channelOptions(address, query) : channelOptions;
				// What the instance is comes from the registry; there is nothing to ask DNS but its address.
				const settings = { 'grpc.service_config_disable_resolution': 1, ...own };
				return new PooledClient(new Client(`dns:${formatAddress(address)}`, credentials, settings));
			},
			drain: (pooled) => pooled.drain(),
		});
	}

	/** Channels, those that are being closed not counted. */
	get size(): number {
		return this.#clients.size;
	}

	/**
	 * Makes a call with the client of one instance. Rejects as `diplomat.acquire` does when there is no instance, and with what
	 * `call` rejects with; a ServiceError then has a SpockError that names the service and the instance as its cause. A call
	 * that ran into its deadline counts against the instance; one that was cancelled does not.
	 *
	 * @param call The whole call: when it settles, it has ended. See `unary`.
	 */
	call<T>(call: (client: C, address: ServiceAddress) => Promise<T>, options: PoolCallOptions = {}): Promise<T> {
		const { idempotent = false, retriesMax, ...lookup } = options;
		if (!idempotent) return this.#once(call, lookup);
		const { signal } = lookup;
		return retry(() => this.#once(call, lookup), {
			isRetryable: isUnavailable,
			...(retriesMax !== undefined && { retriesMax }),
			...(signal && { signal }),
		});
	}

	/** Closes every channel once its calls have ended. */
	close(): Promise<void> {
		return this.#clients.close();
	}

	/** As `close`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.close();
	}

	async #once<T>(call: (client: C, address: ServiceAddress) => Promise<T>, lookup: AcquireOptions): Promise<T> {
		const failed = failedInstances();
		const lease = await this.#diplomat.acquire(this.#query, { ...lookup, ...(failed && { exclude: failed }) });
		const { address } = lease;
		let outcome: CallOutcome = 'success';
		const pooled = this.#clientOf(lease);
		pooled.begin();
		try {
			return await call(pooled.client, address);
		} catch (error) {
			outcome = isServiceError(error) ? callOutcome(error.code) : outcomeOf(error);
			if (outcome === 'failure') failed?.add(address.instance);
			throw named(error, lease);
		} finally {
			pooled.end();
			lease.release(outcome);
		}
	}

	#clientOf(lease: Lease): PooledClient<C> {
		try {
			return this.#clients.get(this.#query, lease.address);
		} catch (error) {
			// Options or a host that no channel can be made of: that is not what the instance did.
			lease.release('cancelled');
			throw error;
		}
	}
}

/** An error of grpc-js, of whichever copy. */
function isServiceError(error: unknown): error is Error & { readonly code: number; readonly details: string } {
	return error instanceof Error && typeof (error as { code?: unknown }).code === 'number';
}

/** Nobody has done the work, so another instance may: unless the call is one that may not be made twice. */
function isUnavailable(error: unknown): boolean {
	return isServiceError(error) && error.code === status.UNAVAILABLE;
}

/** The error, with a cause that says which instance of which service it is of, if it has none. */
function named(error: unknown, { query, address }: Lease): unknown {
	if (isServiceError(error) && error.cause === undefined) error.cause = instanceError(query, address, error.details);
	return error;
}
