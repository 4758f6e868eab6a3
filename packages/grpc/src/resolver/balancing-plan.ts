import type { experimental } from '@grpc/grpc-js';
import type { CallOutcome, ServiceAddress, SpockError } from '@spock/client';

import type { GrpcModule } from './grpc-module.ts';

/** The name under which the policy of this package is known to grpc-js. */
export const SPOCK_POLICY = 'spock';

/** One instance and where it is. */
export type InstancePlace = Pick<ServiceAddress, 'instance' | 'host' | 'port'>;

/** What a resolution tells the load-balancing policy. Immutable; replaced whole when the instances change. */
export interface BalancingPlan {
	readonly grpc: GrpcModule;
	readonly service: string;
	/** How calls are shared out among the instances. */
	readonly childPolicy: experimental.TypedLoadBalancingConfig;
	/** Each instance by its address, as grpc-js writes addresses. */
	readonly instances: ReadonlyMap<string, InstancePlace>;
	/** Why there are no addresses, if there are none. */
	readonly unavailable: SpockError | undefined;
	now(): number;
	/** How a call ended. */
	report(instance: InstancePlace, outcome: CallOutcome, durationMs: number): void;
}

/** A plan as grpc-js hands it from the resolver to the policy. */
export class PlanConfig implements experimental.TypedLoadBalancingConfig {
	readonly plan: BalancingPlan;

	constructor(plan: BalancingPlan) {
		this.plan = plan;
	}

	/** grpc-js calls it with what the resolver put into the service config: the plan itself. Throws if it is anything else. */
	static createFromJson(value: unknown): PlanConfig {
		if (value instanceof PlanConfig) return value;
		throw new Error(`the policy ${SPOCK_POLICY} is only for channels to spock:/// targets`);
	}

	getLoadBalancerName(): string {
		return SPOCK_POLICY;
	}

	toJsonObject(): object {
		return { [SPOCK_POLICY]: { service: this.plan.service } };
	}
}
