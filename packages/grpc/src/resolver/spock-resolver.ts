import type { ChannelOptions, experimental } from '@grpc/grpc-js';
import { type CallOutcome, type Diplomat, type ServiceQuery, type ServiceSnapshot, SpockError } from '@spock/client';
import { type Clock, type Random, systemClock } from '@spock/protocol/internal';

import { type AnyListener, type GrpcModule, type ServiceConfig, tellListener } from './grpc-module.ts';
import { addressesOf, Ejections, groupsOf, noAddresses, type ServiceAddresses } from './service-addresses.ts';
import { ServiceWatch } from './service-watch.ts';
import { type InstancePlace, PlanConfig, SPOCK_POLICY } from './spock-load-balancer.ts';

/** What a resolver needs of where it is registered. */
export interface ResolverPlace {
	readonly grpc: GrpcModule;
	/** Whom to ask; undefined after the registration was undone. */
	readonly diplomat: Diplomat | undefined;
	/** Notified of changes from here on. */
	add(resolver: SpockResolver): void;
	delete(resolver: SpockResolver): void;
}

/** What tests replace. */
export interface ResolverTools {
	readonly clock: Clock;
	readonly random: Random;
}

/**
 * Follows a service for one channel and tells it the addresses, each set once. What makes it right that a request for a
 * resolution is otherwise not answered: every outcome, also that there are no addresses, is told as a resolution with a
 * policy that answers calls by itself, so that grpc-js has no call waiting for another one.
 */
export class SpockResolver implements experimental.Resolver {
	readonly #place: ResolverPlace;
	readonly #query: ServiceQuery;
	readonly #listener: AnyListener;
	readonly #serviceConfig: ChannelServiceConfig;
	readonly #tools: ResolverTools;
	#watch: ServiceWatch | undefined;
	#ejections: Ejections | undefined;
	#snapshot: ServiceSnapshot | undefined;
	#told: ServiceAddresses | undefined;
	#isActive = false;

	constructor(
		place: ResolverPlace,
		query: ServiceQuery,
		listener: AnyListener,
		channelOptions: ChannelOptions,
		tools: ResolverTools = { clock: systemClock, random: Math.random },
	) {
		this.#place = place;
		this.#query = query;
		this.#listener = listener;
		this.#serviceConfig = new ChannelServiceConfig(place.grpc, channelOptions);
		this.#tools = tools;
	}

	/** A channel asks when it leaves idleness, and whenever a connection is lost. Only the first one starts something. */
	updateResolution(): void {
		if (this.#isActive) return;
		this.#isActive = true;
		this.#place.add(this);
		this.#start();
	}

	/** The channel is idle or closed. `updateResolution` starts it again, and then reports its result again. */
	destroy(): void {
		this.#isActive = false;
		this.#place.delete(this);
		this.#stop();
		this.#snapshot = undefined;
		this.#told = undefined;
	}

	/** There is another Diplomat to ask, or none. What is known stays until the new one has answered. */
	restart(): void {
		this.#stop();
		this.#start();
	}

	#start(): void {
		const { diplomat } = this.#place;
		if (diplomat === undefined) {
			const message = `the resolver of the service ${JSON.stringify(this.#query.service)} was unregistered`;
			// A listener must not be called within updateResolution.
			void Promise.resolve().then(() => {
				if (!this.#isActive || this.#place.diplomat !== undefined) return;
				this.#snapshot = undefined;
				this.#tell(noAddresses(new SpockError('CLOSED', message)));
			});
			return;
		}
		const { clock } = this.#tools;
		// Later in this tick: an instance is ejected by the end of a call, amid which grpc-js is not given another list.
		this.#ejections = new Ejections({
			diplomat,
			query: this.#query,
			clock,
			changed: () => void Promise.resolve().then(() => this.#arrange()),
		});
		this.#watch = new ServiceWatch({
			...this.#tools,
			diplomat,
			query: this.#query,
			next: (snapshot) => {
				this.#snapshot = snapshot;
				this.#arrange();
			},
			failed: (error) => {
				// Addresses that may still be right are better than none.
				if (this.#told === undefined || this.#told.unavailable !== undefined) this.#tell(noAddresses(error));
			},
		});
	}

	#stop(): void {
		this.#watch?.stop();
		this.#watch = undefined;
		this.#ejections?.stop();
		this.#ejections = undefined;
	}

	/** Reports the known state, if it differs from the last report. */
	#arrange(): void {
		const [snapshot, ejections] = [this.#snapshot, this.#ejections];
		if (snapshot === undefined || ejections === undefined) return;
		const { grpc, diplomat } = this.#place;
		const grouped = diplomat && groupsOf(diplomat, this.#query, snapshot);
		this.#tell(addressesOf(grpc, snapshot, (instances) => ejections.among(instances), grouped));
	}

	#report(instance: InstancePlace, outcome: CallOutcome, durationMs: number): void {
		const { diplomat } = this.#place;
		if (diplomat === undefined) return;
		const { instance: name, host, port } = instance;
		diplomat.report({ query: this.#query, instance: name, host, port }, outcome, durationMs);
		// What a Diplomat remembers of instances it forgets when nobody looks their service up any more. The watch tells errors.
		if (outcome === 'failure') diplomat.getService(this.#query).catch(() => undefined);
	}

	#tell(addresses: ServiceAddresses): void {
		if (addresses.key === this.#told?.key) return;
		this.#told = addresses;
		const { grpc } = this.#place;
		const config = new PlanConfig({
			grpc,
			service: this.#query.service,
			childPolicy: this.#serviceConfig.childPolicy,
			instances: addresses.instances,
			groups: addresses.groups,
			unavailable: addresses.unavailable,
			now: () => this.#tools.clock.now(),
			report: (instance, outcome, durationMs) => this.#report(instance, outcome, durationMs),
		});
		const serviceConfig = this.#serviceConfig.with(config);
		tellListener(grpc, this.#listener, { endpoints: addresses.endpoints, serviceConfig });
	}
}

/** How calls are shared out unless the user's service config says otherwise. */
const DEFAULT_CHILD_POLICY = [{ round_robin: {} }];

/** A service config as its user wrote it: grpc-js has checked it before a resolver is made. */
type WrittenConfig = Partial<Omit<ServiceConfig, 'methodConfig'>> & {
	readonly methodConfig?: readonly WrittenMethod[];
};
type Method = ServiceConfig['methodConfig'][number];
type WrittenMethod = Omit<Method, 'timeout'> & { readonly timeout?: string | Method['timeout'] };

/**
 * The service config of a channel: the user's (`grpc.service_config`: retries, time-outs, a policy), under the policy of this
 * package. A config that a resolver gives replaces the user's whole, so theirs must be in it.
 */
class ChannelServiceConfig {
	/** How calls are shared out among the instances. */
	readonly childPolicy: experimental.TypedLoadBalancingConfig;
	readonly #rest: Omit<ServiceConfig, 'loadBalancingConfig'>;

	constructor(grpc: GrpcModule, channelOptions: ChannelOptions) {
		const text = channelOptions['grpc.service_config'];
		const written = (text === undefined ? {} : JSON.parse(text)) as WrittenConfig;
		const { loadBalancingConfig = [], methodConfig = [], retryThrottling } = written;
		const chosen = grpc.experimental.selectLbConfigFromList([...loadBalancingConfig, ...DEFAULT_CHILD_POLICY], true);
		// grpc-js always has round_robin, and a default below it.
		this.childPolicy = chosen as experimental.TypedLoadBalancingConfig;
		this.#rest = {
			methodConfig: methodConfig.map((method) => readMethod(grpc, method)),
			...(retryThrottling && { retryThrottling }),
		};
	}

	with(config: PlanConfig): ServiceConfig {
		return { ...this.#rest, loadBalancingConfig: [{ [SPOCK_POLICY]: config }] };
	}
}

/** In JSON a duration is a text such as "1.5s". */
function readMethod(grpc: GrpcModule, { timeout, ...method }: WrittenMethod): Method {
	const read = typeof timeout === 'string' ? grpc.experimental.parseDuration(timeout) : timeout;
	return { ...method, ...(read && { timeout: read }) };
}
