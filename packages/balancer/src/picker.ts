import type { ServiceInstance } from '@spock/protocol';

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

/** True for a policy that lives on what is known of calls: where nobody tells of any it is no better than `random`. */
export function needsRecords(policy: BalancingPolicy): boolean {
	return policy === 'least-in-flight' || policy === 'least-latency';
}

/** What one pick may depend on. */
export interface PickOptions {
	/**
	 * Picks with equal keys get the same instance for as long as that instance serves, under every policy; when it
	 * leaves, only its own keys move.
	 */
	readonly key?: string | undefined;
}

/** Picks instances of one snapshot. Immutable but for its cursor; replaced whole when the snapshot is. */
export interface Picker {
	readonly policy: BalancingPolicy;
	/** The next instance, or undefined when none serves. No I/O, no promise. */
	pick(options?: PickOptions): ServiceInstance | undefined;
}
