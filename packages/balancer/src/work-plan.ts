import type { ServiceInstance } from '@spock/protocol';

import { type BalancingPolicy, countsWeights } from './policies.ts';
import { subsetOf } from './rendezvous.ts';

/** Whether the zone of an instance matters: `any` for no, `prefer` for the caller's own zone first. */
export type ZonePolicy = 'any' | 'prefer';

/** Every zone policy. */
export const zonePolicies: readonly ZonePolicy[] = Object.freeze(['any', 'prefer']);

/** Which of the instances that are served get work of one caller. Default: all of them. */
export interface WorkRules {
	/** The caller's zone, which it prefers; undefined: zones do not matter. */
	readonly zone?: string | undefined;
	/** How many callers each zone has, in any unit. Default: the same number in each zone that has instances, and in the caller's. */
	readonly callers?: ReadonlyMap<string, number> | undefined;
	/** Most instances that get work of this caller. 0: all. Default 0. */
	readonly subset?: number | undefined;
	/** What the subset is drawn by: callers with different keys get different subsets. Default: the empty key. */
	readonly subsetKey?: string | undefined;
}

/** One zone, in fractions of the whole; null stands for instances without a zone. */
export interface ZoneShare {
	readonly zone: string | null;
	/** Its fraction of the weight that is served. */
	readonly weight: number;
	/** Its fraction of all callers. */
	readonly callers: number;
	/** Its fraction of this caller's work. */
	readonly work: number;
}

/** Instances that share a part of a caller's work. */
export interface WorkGroup<I> {
	/** The fraction of the work, above 0. */
	readonly share: number;
	readonly instances: readonly I[];
}

/** Which instances get work of one caller, and how much. Immutable; made when the instances change, and never by a pick. */
export interface WorkPlan<I> {
	/** All that are served: a pick with a key chooses among them, so that every caller gets the same instance for it. */
	readonly serving: readonly I[];
	/** The shares amount to 1; empty if nothing is served. */
	readonly groups: readonly WorkGroup<I>[];
	/** The caller's own zone first; undefined where zones do not matter. */
	readonly zones: readonly ZoneShare[] | undefined;
	/** Most instances that get work; 0: all. */
	readonly subset: number;
	/** What the subset is drawn by. */
	readonly subsetKey: string;
}

/** What a plan needs to know of an instance. */
export type Placed = Pick<ServiceInstance, 'instance' | 'zone' | 'weight'>;

/** Fractions that differ by less are equal: they are sums of floating-point numbers. */
const TINY = 1e-9;

/**
 * Plans the work of one caller. `registered` are all instances, of which some may be out for now: the zones that they are in have callers.
 * The policy decides whether an instance counts by its weight.
 */
export function planWork<I extends Placed>(
	policy: BalancingPolicy,
	serving: readonly I[],
	registered: readonly Pick<I, 'zone'>[],
	{ zone, callers, subset = 0, subsetKey = '' }: WorkRules = {},
): WorkPlan<I> {
	const whole: WorkGroup<I>[] = serving.length === 0 ? [] : [{ share: 1, instances: serving }];
	const zones = zone === undefined ? undefined : zoneShares(policy, serving, registered, zone, callers);
	const groups = zones === undefined ? whole : groupsOf(zones, serving);
	const cut = ({ share, instances }: WorkGroup<I>): WorkGroup<I> => {
		return { share, instances: subsetOf(instances, Math.max(1, Math.round(subset * share)), subsetKey) };
	};
	return { serving, groups: subset === 0 ? groups : groups.map(cut), zones, subset, subsetKey };
}

/**
 * How much of a caller's work each zone gets, by the rule of Envoy's zone-aware routing
 * (https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/zone_aware): the caller's own zone gets all of
 * it as long as its fraction of the weight is at least its fraction of the callers. Otherwise it gets weight / callers of it, and the
 * rest goes to the zones with more weight than callers, in proportion to what they have too much. When all callers do so, every
 * instance gets work in proportion to its weight.
 */
function zoneShares(
	policy: BalancingPolicy,
	serving: readonly Placed[],
	registered: readonly Pick<Placed, 'zone'>[],
	own: string,
	given: ReadonlyMap<string, number> | undefined,
): readonly ZoneShare[] {
	const weights = new Map<string | null, number>([[own, 0]]);
	for (const { zone } of registered) weights.set(zone, 0);
	// Against the greatest, so that no sum of weights is infinite.
	const greatest = serving.reduce((most, { weight }) => Math.max(most, weight), 1);
	let weightSum = 0;
	for (const { zone, weight } of serving) {
		// Weights are 0 only where all are.
		const counted = countsWeights(policy) ? (weight || 1) / greatest : 1;
		weights.set(zone, (weights.get(zone) ?? 0) + counted);
		weightSum += counted;
	}
	const callersOf = (zone: string | null): number => (zone === null ? 0 : (given?.get(zone) ?? (given ? 0 : 1)));
	const all: Iterable<string | null> = given?.keys() ?? weights.keys();
	const callersSum = [...all].reduce((sum, zone) => sum + callersOf(zone), 0);
	const zones = [...weights].map(([zone, sum]) => {
		return { zone, weight: weightSum === 0 ? 0 : sum / weightSum, callers: callersOf(zone) / callersSum };
	});
	const [{ weight, callers }, ...others] = zones as [ZoneShare, ...ZoneShare[]];
	const isEnough = weight > 0 && weight > callers - TINY;
	const local = isEnough ? 1 : weight / Math.max(callers, TINY);
	const spareOf = (one: Omit<ZoneShare, 'work'>): number => Math.max(0, one.weight - one.callers);
	const spareSum = others.reduce((sum, one) => sum + spareOf(one), 0);
	return zones.map((one, index) => {
		if (index === 0) return { ...one, work: local };
		// Nothing to spare anywhere: the caller is in a zone that is not among those of the callers.
		const fraction = spareSum > TINY ? spareOf(one) / spareSum : one.weight;
		return { ...one, work: isEnough || fraction < TINY ? 0 : fraction * (1 - local) };
	});
}

function groupsOf<I extends Placed>(zones: readonly ZoneShare[], serving: readonly I[]): WorkGroup<I>[] {
	const byZone = new Map<string | null, I[]>(zones.map(({ zone }) => [zone, []]));
	for (const one of serving) byZone.get(one.zone)?.push(one);
	return zones.flatMap(({ zone, work }) => (work > 0 ? [{ share: work, instances: byZone.get(zone) ?? [] }] : []));
}

/**
 * Whether and why each instance that is served gets work of this plan's caller; undefined where neither zones nor a subset decide.
 */
export function explainPlan<I extends Placed>({
	groups,
	zones,
	subset,
}: WorkPlan<I>): ((one: I) => { readonly included: boolean; readonly reason: string }) | undefined {
	if (zones === undefined && subset === 0) return undefined;
	const working = new Set(groups.flatMap(({ instances }) => instances));
	const shares = new Map(zones?.map((share) => [share.zone, share]));
	const local = zones?.[0];
	return (one) => {
		const included = working.has(one);
		const share = shares.get(one.zone);
		if (!included && (share?.work ?? 1) > 0) return { included, reason: `not in this client's subset of ${subset}` };
		if (share === undefined || local === undefined) return { included, reason: `in this client's subset of ${subset}` };
		const place = one.zone === null ? 'without a zone' : `in zone ${JSON.stringify(one.zone)}`;
		const percent = `${Math.round(share.work * 100)} % of the work`;
		if (share === local) return { included, reason: `local: ${place}, which gets ${percent}` };
		if (included) return { included, reason: `spilled: ${place}, which gets ${percent}` };
		const own = `the local zone ${JSON.stringify(local.zone)}`;
		const why = local.work === 1 ? `${own} is enough` : 'it has no weight to spare';
		return { included, reason: `out: ${place}, and ${why}` };
	};
}
