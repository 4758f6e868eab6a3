import type { experimental } from '@grpc/grpc-js';

import { type BalancingPlan, PlanConfig, SPOCK_POLICY } from './balancing-plan.ts';
import { ReportingPicker } from './reporting-picker.ts';

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
	#child: experimental.ChildLoadBalancerHandler | undefined;

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
			this.#dropChild();
			this.#refuseCalls(plan, plan.unavailable);
			return true;
		}
		this.#child ??= this.#makeChild(plan);
		// Before 1.14 it gives nothing back, and accepts.
		return (this.#child.updateAddressList(endpoints, plan.childPolicy, options, note) as boolean | undefined) ?? true;
	}

	exitIdle(): void {
		this.#child?.exitIdle();
	}

	resetBackoff(): void {
		this.#child?.resetBackoff();
	}

	destroy(): void {
		this.#dropChild();
		this.#plan = undefined;
	}

	getTypeName(): string {
		return SPOCK_POLICY;
	}

	#dropChild(): void {
		this.#child?.destroy();
		this.#child = undefined;
	}

	#refuseCalls({ grpc }: BalancingPlan, { code, message }: { readonly code: string; readonly message: string }): void {
		const details = `${code}: ${message}`;
		const metadata = new grpc.Metadata();
		metadata.set('spock-code', code);
		const picker = new grpc.experimental.UnavailablePicker({ code: grpc.status.UNAVAILABLE, details, metadata });
		this.#helper.updateState(grpc.connectivityState.TRANSIENT_FAILURE, picker, details);
	}

	#makeChild({ grpc }: BalancingPlan): experimental.ChildLoadBalancerHandler {
		const { ChildLoadBalancerHandler, createChildChannelControlHelper } = grpc.experimental;
		const updateState: Helper['updateState'] = (state, picker, message) => {
			const plan = this.#plan;
			if (plan !== undefined) this.#helper.updateState(state, new ReportingPicker(picker, plan), message);
		};
		return new ChildLoadBalancerHandler(createChildChannelControlHelper(this.#helper, { updateState }));
	}
}
