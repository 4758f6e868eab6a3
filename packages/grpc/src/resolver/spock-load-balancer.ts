import type { experimental } from '@grpc/grpc-js';
import type { CallOutcome, ServiceAddress, SpockError } from '@spock/client';

import { callOutcome } from '../calls/call-status.ts';
import { type EndpointGroup, GroupBalancer } from './group-balancer.ts';
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
	/** The instances in groups, each with its share of the calls. */
	readonly groups: readonly EndpointGroup[];
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

type Helper = experimental.ChannelControlHelper;

/**
 * The policy of a channel to a Spock target: another one shares the calls out (round_robin unless the user names one), and
 * this one reports each call, and answers for the service while it has no instances. A policy has to do that: from an empty
 * list, round_robin of grpc-js 1.13 and 1.14 becomes idle, queues the calls and asks for the next resolution at once; told
 * an error, it stays with the addresses it had.
 */
export class SpockLoadBalancer implements experimental.LoadBalancer {
	readonly #helper: Helper;
	#plan: BalancingPlan | undefined;
	#groups: GroupBalancer | undefined;

	constructor(helper: Helper) {
		this.#helper = helper;
	}

	updateAddressList(
		...[endpoints, config, options, note]: Parameters<experimental.LoadBalancer['updateAddressList']>
	): boolean {
		if (!(config instanceof PlanConfig)) return false;
		const { plan } = config;
		this.#plan = plan;
		if (plan.unavailable !== undefined) {
			this.#dropGroups();
			this.#refuseCalls(plan, plan.unavailable);
			return true;
		}
		this.#groups ??= this.#makeGroups(plan);
		return this.#groups.update(plan.groups, [endpoints, plan.childPolicy, options, note]);
	}

	exitIdle(): void {
		this.#groups?.exitIdle();
	}

	resetBackoff(): void {
		this.#groups?.resetBackoff();
	}

	destroy(): void {
		this.#dropGroups();
		this.#plan = undefined;
	}

	getTypeName(): string {
		return SPOCK_POLICY;
	}

	#dropGroups(): void {
		this.#groups?.destroy();
		this.#groups = undefined;
	}

	#refuseCalls({ grpc }: BalancingPlan, { code, message }: { readonly code: string; readonly message: string }): void {
		const details = `${code}: ${message}`;
		const metadata = new grpc.Metadata();
		metadata.set('spock-code', code);
		const picker = new grpc.experimental.UnavailablePicker({ code: grpc.status.UNAVAILABLE, details, metadata });
		this.#helper.updateState(grpc.connectivityState.TRANSIENT_FAILURE, picker, details);
	}

	#makeGroups({ grpc }: BalancingPlan): GroupBalancer {
		return new GroupBalancer(grpc, this.#helper, (state, picker, message) => {
			const plan = this.#plan;
			if (plan !== undefined) this.#helper.updateState(state, new ReportingPicker(picker, plan), message);
		});
	}
}

/** The picker of another policy, whose calls are reported and whose errors name the service. Replaced when that one is. */
class ReportingPicker implements experimental.Picker {
	readonly #picker: experimental.Picker;
	readonly #plan: BalancingPlan;

	constructor(picker: experimental.Picker, plan: BalancingPlan) {
		this.#picker = picker;
		this.#plan = plan;
	}

	pick(args: experimental.PickArgs): experimental.PickResult {
		const result = this.#picker.pick(args);
		if (result.subchannel !== null) return this.#reported(result, result.subchannel);
		const { status } = result;
		if (status === null) return result;
		return { ...result, status: { ...status, details: `the service "${this.#plan.service}": ${status.details}` } };
	}

	#reported(
		result: experimental.PickResult,
		subchannel: NonNullable<experimental.PickResult['subchannel']>,
	): experimental.PickResult {
		const plan = this.#plan;
		const instance = plan.instances.get(subchannel.getAddress());
		if (instance === undefined) return result;
		let startedMs = 0;
		return {
			...result,
			onCallStarted: () => {
				startedMs = plan.now();
				result.onCallStarted?.();
			},
			onCallEnded: (code, details, metadata) => {
				result.onCallEnded?.(code, details, metadata);
				plan.report(instance, callOutcome(code), plan.now() - startedMs);
			},
		};
	}
}
