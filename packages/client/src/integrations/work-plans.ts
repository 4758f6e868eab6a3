import { planWork, type WorkPlan } from '@spock/balancer';

import { PLAN, type Planned, type WorkPlanner } from '../lookups/work-planner.ts';

/** For integrations that share work out by themselves: the planner of a Diplomat; undefined for one of an earlier version. */
export function plannerOf(diplomat: object): WorkPlanner | undefined {
	return (diplomat as { [PLAN]?(): WorkPlanner })[PLAN]?.();
}

/**
 * The instances that replace those of a plan when none of them can be reached: others that are served, from any zone, as many as a subset
 * has.
 */
export function standInsOf<I extends Planned>({ serving, groups, subset, subsetKey }: WorkPlan<I>): readonly I[] {
	const working = new Set(groups.flatMap(({ instances }) => instances));
	const others = serving.filter((one) => !working.has(one));
	const plan = planWork('round-robin', others, others, { subset, subsetKey });
	return plan.groups.flatMap(({ instances }) => instances);
}
