import { type Client, status } from '@grpc/grpc-js';
import { type AcquireOptions, type CallOutcome, type Lease, type ServiceAddress, SpockError } from '@spock/client';
import {
	failedInstances,
	InstanceResources,
	instanceError,
	isConnectionError,
	outcomeOf,
	retry,
	serviceError,
} from '@spock/client/integrations';
import { type Clock, isError, systemClock, type TimerHandle, withAnySignal } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import { callOutcome, isServiceError } from './call-status.ts';
import {
	checkPoolCall,
	type GrpcPoolOptions,
	type PoolCallOptions,
	poolOptions,
	type ResolvedPoolOptions,
} from './pool-options.ts';
import type { FirstAnswer } from './pooled-client.ts';
import { PooledClient } from './pooled-client.ts';

/** What tests replace. */
export interface PoolTools {
	readonly clock: Clock;
}

/** What is called: the whole call, so that when it settles, the call has ended. */
export type PoolCall<C extends Client, T> = (client: C, address: ServiceAddress) => Promise<T>;

/**
 * Clients of one service, a channel for each instance. Each call finds its instance by the Diplomat's policy (least-in-flight
 * too) and is reported to it. The channel of an instance that has left is closed once its calls have ended, and one that has
 * had no call for `channelIdleMs`. End a pool with `drain` or `close`, before its Diplomat.
 */
export class GrpcPool<C extends Client> implements AsyncDisposable {
	readonly #options: ResolvedPoolOptions<C>;
	readonly #clock: Clock;
	readonly #clients: InstanceResources<PooledClient<C>>;
	/** Every client that is not closed, those of instances that have left among them. */
	readonly #open = new Set<PooledClient<C>>();
	readonly #closing = new AbortController();
	#state: 'open' | 'draining' | 'closed' = 'open';
	/** Calls, from the first lookup to the end of the last attempt. */
	#calls = 0;
	#onIdle: (() => void) | undefined;
	#drained: Promise<void> | undefined;
	#sweepTimer: TimerHandle | undefined;

	/** Throws a TypeError or RangeError naming the option that is wrong, or BAD_REQUEST for what is no service. */
	constructor(options: GrpcPoolOptions<C>, { clock }: PoolTools = { clock: systemClock }) {
		this.#options = poolOptions(options);
		this.#clock = clock;
		const { diplomat, Client, credentials, channelOptions } = this.#options;
		this.#clients = new InstanceResources({
			diplomat,
			create: (address, query) => {
				const own = typeof channelOptions === 'function' ? channelOptions(address, query) : channelOptions;
				// What the instance is comes from the registry; there is nothing to ask DNS but its address.
				const settings = { 'grpc.service_config_disable_resolution': 1, ...own };
				const client = new Client(`dns:${formatAddress(address)}`, credentials, settings);
				const pooled = new PooledClient(client, clock, (closed) => this.#open.delete(closed));
				this.#open.add(pooled);
				this.#armSweep();
				return pooled;
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
	 * `call` rejects with; a ServiceError then has a SpockError that names the service and the instance as its cause. Rejects
	 * with CLOSED once the pool is ended. A call that ran into its deadline counts against the instance; one that was cancelled
	 * does not, nor does an error of the function's own. The policy least-latency learns the time to the first headers of what
	 * the function begins at once, so that a long stream is no slow answer. Throws a TypeError or RangeError for wrong options.
	 *
	 * @param call The whole call: when it settles, it has ended. See `unary`.
	 */
	call<T>(call: PoolCall<C, T>, options: PoolCallOptions = {}): Promise<T> {
		checkPoolCall(call, options);
		return this.#call(call, options);
	}

	/** Refuses new calls, and closes every channel once those under way have ended: one without a deadline is waited for. Idempotent. */
	drain(): Promise<void> {
		this.#drained ??= this.#drain();
		return this.#drained;
	}

	/** Refuses new calls, cancels those under way, which reject with CLOSED, and closes every channel. Idempotent. */
	async close(): Promise<void> {
		if (!this.#isClosed) {
			this.#state = 'closed';
			this.#clock.clearTimeout(this.#sweepTimer);
			this.#closing.abort();
			for (const pooled of [...this.#open]) pooled.close();
			this.#onIdle?.();
		}
		await this.#clients.close();
	}

	/** As `drain`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.drain();
	}

	get #isClosed(): boolean {
		return this.#state === 'closed';
	}

	async #drain(): Promise<void> {
		if (this.#state === 'open') this.#state = 'draining';
		if (this.#calls > 0 && this.#state === 'draining') {
			await new Promise<void>((resolve) => {
				this.#onIdle = resolve;
			});
		}
		await this.close();
	}

	async #call<T>(call: PoolCall<C, T>, options: PoolCallOptions): Promise<T> {
		if (this.#state !== 'open') throw this.#closedError();
		const { idempotent = false, retriesMax, ...lookup } = options;
		const { signal } = lookup;
		this.#calls++;
		try {
			if (!idempotent) return await this.#once(call, lookup);
			return await retry(() => this.#once(call, lookup), {
				isRetryable: isUnavailable,
				...(signal && { signal }),
				...(retriesMax !== undefined && { retriesMax }),
			});
		} catch (error) {
			throw this.#isClosed ? this.#closedError(error) : error;
		} finally {
			this.#calls--;
			if (this.#calls === 0) this.#onIdle?.();
		}
	}

	async #once<T>(call: PoolCall<C, T>, lookup: AcquireOptions): Promise<T> {
		const failed = failedInstances(this.#options.query);
		const lease = await this.#acquire({ ...lookup, ...(failed && { exclude: failed }) });
		const { address } = lease;
		const pooled = this.#clientOf(lease);
		const startedMs = this.#clock.now();
		const answer: FirstAnswer = { atMs: undefined };
		let outcome: CallOutcome = 'success';
		pooled.begin();
		try {
			return await pooled.calls.during(answer, () => call(pooled.client, address));
		} catch (error) {
			outcome = this.#isClosed ? 'cancelled' : outcomeOfCall(error);
			if (outcome === 'failure') failed?.add(address.instance);
			throw named(error, lease);
		} finally {
			pooled.end();
			lease.release(outcome, (answer.atMs ?? this.#clock.now()) - startedMs);
		}
	}

	async #acquire(lookup: AcquireOptions): Promise<Lease> {
		const { diplomat, query } = this.#options;
		const closing = this.#closing.signal;
		try {
			return await withAnySignal([lookup.signal, closing], (signal) => diplomat.acquire(query, { ...lookup, signal }));
		} catch (error) {
			throw SpockError.is(error) ? serviceError(query, error) : error;
		}
	}

	#clientOf(lease: Lease): PooledClient<C> {
		try {
			// It may have been closed while an instance was looked for.
			if (this.#isClosed) throw this.#closedError();
			return this.#clients.get(this.#options.query, lease.address);
		} catch (error) {
			// Options or a host that no channel can be made of: that is not what the instance did.
			lease.release('cancelled');
			throw error;
		}
	}

	#closedError(cause?: unknown): SpockError {
		if (isError(cause) && SpockError.is(cause) && cause.code === 'CLOSED') return cause;
		const { service } = this.#options.query;
		const message = `the pool of ${JSON.stringify(service)} was closed: make another one`;
		return new SpockError('CLOSED', message, { cause, details: { service } });
	}

	/** Closes clients without a call for this long: without a watch, nothing else reveals which instances have left. */
	#sweep(): void {
		const nowMs = this.#clock.now();
		for (const pooled of [...this.#open]) {
			const { idleSinceMs } = pooled;
			if (idleSinceMs === undefined || nowMs - idleSinceMs < this.#options.channelIdleMs) continue;
			this.#clients.delete(pooled);
			pooled.close();
		}
		if (this.#open.size > 0) this.#armSweep();
	}

	#armSweep(): void {
		if (this.#sweepTimer !== undefined) return;
		this.#sweepTimer = this.#clock.setTimeout(() => {
			this.#sweepTimer = undefined;
			this.#sweep();
		}, this.#options.channelIdleMs);
		this.#sweepTimer.unref?.();
	}
}

/** What is no error of a connection is the caller's own, and says nothing of the instance. */
function outcomeOfCall(error: unknown): CallOutcome {
	if (isServiceError(error)) return callOutcome(error.code);
	return isConnectionError(error) ? outcomeOf(error) : 'cancelled';
}

/** The work was not done, so another instance may do it: unless the call must not be made twice. */
function isUnavailable(error: unknown): boolean {
	return isServiceError(error) && error.code === status.UNAVAILABLE;
}

/** The error, with a cause that says which instance of which service it is of, if it has none. */
function named(error: unknown, { query, address }: Lease): unknown {
	if (isServiceError(error) && error.cause === undefined) error.cause = instanceError(query, address, error.details);
	return error;
}
