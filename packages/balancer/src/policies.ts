/** How work is shared out among the serving instances of a snapshot. */
export type BalancingPolicy =
	| 'round-robin'
	| 'random'
	| 'weighted'
	| 'consistent-hash'
	| 'least-in-flight'
	| 'least-latency';

/** The policy where none is named. */
export const DEFAULT_POLICY: BalancingPolicy = 'round-robin';

/** Every policy there is. */
export const balancingPolicies: readonly BalancingPolicy[] = Object.freeze([
	'round-robin',
	'random',
	'weighted',
	'consistent-hash',
	'least-in-flight',
	'least-latency',
]);

/** True for a policy that chooses by the outcome of calls: without reports it is no better than `random`. */
export function needsRecords(policy: BalancingPolicy): boolean {
	return policy === 'least-in-flight' || policy === 'least-latency';
}

/** True for a policy under which an instance gets work in proportion to its weight. */
export function countsWeights(policy: BalancingPolicy): boolean {
	return policy === 'weighted' || needsRecords(policy);
}
