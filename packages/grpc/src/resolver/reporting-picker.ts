import type { experimental } from '@grpc/grpc-js';
import { callOutcome } from '../calls/call-status.ts';
import type { BalancingPlan } from './balancing-plan.ts';

/** The picker of another policy, whose calls are reported and whose errors name the service. Replaced when that one is. */
export class ReportingPicker implements experimental.Picker {
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
