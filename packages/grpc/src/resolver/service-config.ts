import type { ChannelOptions, experimental } from '@grpc/grpc-js';

import { type PlanConfig, SPOCK_POLICY } from './balancing-plan.ts';
import type { GrpcModule, ServiceConfig } from './grpc-module.ts';

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
export class ChannelServiceConfig {
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
