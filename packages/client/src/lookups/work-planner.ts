import { type BalancingPolicy, planWork, type WorkPlan } from '@spock/balancer';
import type { ServiceInstance, ServiceQuery, ServiceSnapshot } from '@spock/protocol';

import type { ResolvedOptions } from '../foundation/options.ts';
import type { InstanceRecords, Place } from './instance-records.ts';

/** What plans depend on. */
export type PlanOptions = Pick<
	ResolvedOptions,
	'clock' | 'ejectedPercentMax' | 'policy' | 'subset' | 'subsetKey' | 'zoneCallers' | 'zonePolicy'
>;

/** An instance as a plan sees it. */
export type Planned = Place & Pick<ServiceInstance, 'zone' | 'weight'>;

/** The members of a snapshot that a plan depends on. */
type Registered = { readonly instances: readonly Pick<ServiceInstance, 'zone'>[] } & Pick<ServiceSnapshot, 'panic'>;

/**
 * The name of the method of a Diplomat by which integrations get its plans. It is registered, so that copies of this package find each
 * other, and not part of the public types.
 */
export const PLAN: unique symbol = Symbol.for('@spock/client/plan');

/** Decides which of the instances that are served get work of this client, by its zone and its subsets. */
export class WorkPlanner {
	readonly #options: PlanOptions;
	readonly #records: InstanceRecords;
	/** The zone of this client; undefined while it is unknown. */
	readonly zone: () => string | undefined;

	constructor(options: PlanOptions, records: InstanceRecords, zone: () => string | undefined) {
		this.#options = options;
		this.#records = records;
		this.zone = zone;
	}

	/** The plan over the instances that are served of a snapshot, by the policy of the client or by another one. */
	plan<I extends Planned>(
		query: ServiceQuery,
		snapshot: Registered,
		serving: readonly I[],
		policy: BalancingPolicy = this.#options.policy,
	): WorkPlan<I> {
		const { subset, subsetKey, zoneCallers, zonePolicy } = this.#options;
		const isPreferred = zonePolicy === 'prefer' && this.ignored(query, snapshot, serving) === undefined;
		return planWork(policy, serving, snapshot.instances, {
			zone: isPreferred ? this.zone() : undefined,
			callers: zoneCallers,
			subset: typeof subset === 'number' ? subset : subset.get(query.service),
			subsetKey,
		});
	}

	/** Why zones do not matter now, though the local one is preferred; undefined if they do. */
	ignored(query: ServiceQuery, { panic }: Registered, serving: readonly Planned[]): string | undefined {
		if (this.#options.zonePolicy === 'any') return undefined;
		const zone = this.zone();
		if (zone === undefined) return 'zones do not matter: that of this client is unknown';
		if (panic === true) return 'zones do not matter in a panic';
		// Preferred, a zone that fails would get more than its part of the calls, for as long as no more of it may be left out.
		const nowMs = this.#options.clock.now();
		const isFailing = (one: Planned): boolean =>
			one.zone === zone && (this.#records.find(query, one)?.ejectedUntilMs ?? 0) > nowMs;
		if (this.#options.ejectedPercentMax === 0 || !serving.some(isFailing)) return undefined;
		return 'zones do not matter while the local one fails';
	}
}
