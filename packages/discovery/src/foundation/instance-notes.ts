import type { CheckStatus, RefusedInstance, ServiceInstance } from '@spock/protocol';

/** Checks remembered for each instance: the worst of them, where a registry has more. */
export const CHECKS_MAX = 64;

// Beside the instances and not in them: snapshots are pushed to clients, which do not act on single checks. A list of checks
// lives for as long as its instance does, so the newest answer of each question is all that is kept.
const checks = new WeakMap<ServiceInstance, readonly CheckStatus[]>();
const NONE: readonly CheckStatus[] = Object.freeze([]);
const SEVERITY: Readonly<Record<string, number>> = { maintenance: 0, critical: 1, warning: 3, passing: 4 };
/** A status that is not known is treated as critical, and comes behind it. */
const UNKNOWN_SEVERITY = 2;

/** Remembers the checks of an instance, the worst first. */
export function rememberChecks(instance: ServiceInstance, list: readonly CheckStatus[]): void {
	if (list.length === 0) return;
	const sorted = [...list].sort((left, right) => severity(left) - severity(right) || compare(left.id, right.id));
	checks.set(instance, Object.freeze(sorted.slice(0, CHECKS_MAX)));
}

/** The checks of an instance, the worst first; empty where the registry returned none. */
export function checksOf(instance: ServiceInstance): readonly CheckStatus[] {
	return checks.get(instance) ?? NONE;
}

/** True if two instances have equal checks. */
export function isSameChecks(left: ServiceInstance, right: ServiceInstance): boolean {
	const before = checksOf(left);
	const after = checksOf(right);
	if (before === after) return true;
	return (
		before.length === after.length &&
		before.every(({ id, name, status }, index) => {
			const other = after[index] as CheckStatus;
			return id === other.id && name === other.name && status === other.status;
		})
	);
}

/** Gives instances that are reused the checks of their equals in a newer list, which has the same order. */
export function takeChecks(kept: readonly ServiceInstance[], newer: readonly ServiceInstance[]): void {
	if (kept === newer) return;
	kept.forEach((instance, index) => {
		const list = checks.get(newer[index] as ServiceInstance);
		if (list === undefined) checks.delete(instance);
		else checks.set(instance, list);
	});
}

function severity({ status }: CheckStatus): number {
	return SEVERITY[status] ?? UNKNOWN_SEVERITY;
}

function compare(left: string, right: string): number {
	return left < right ? -1 : left > right ? 1 : 0;
}

/** Refused instances of one answer that are remembered; the others are counted. */
export const REFUSED_MAX = 64;
/** The instances left out of an answer of a registry, because no client could be sent to them. */
export interface Refused {
	readonly count: number;
	/** The first {@link REFUSED_MAX} of them. */
	readonly instances: readonly RefusedInstance[];
}

export const NONE_REFUSED: Refused = Object.freeze({ count: 0, instances: Object.freeze([]) });

// Beside the lists and not in them, as checks are: an answer passes through several hands on its way to the cache.
const refused = new WeakMap<readonly ServiceInstance[], Refused>();

/** Remembers the instances left out of a list. */
export function rememberRefused(list: readonly ServiceInstance[], bad: Refused): void {
	refused.set(list, bad);
}

/** True for a list whose instances were checked. */
export function isLookedThrough(list: readonly ServiceInstance[]): boolean {
	return refused.has(list);
}

/** The instances left out of a list. */
export function refusedOf(list: readonly ServiceInstance[]): Refused {
	return refused.get(list) ?? NONE_REFUSED;
}

/** True if the same instances are left out of two lists, for the same reasons. */
export function isSameRefused(before: Refused, after: Refused): boolean {
	if (before === after) return true;
	if (before.count !== after.count) return false;
	return before.instances.every(({ instance, reason }, index) => {
		const other = after.instances[index];
		return instance === other?.instance && reason === other.reason;
	});
}
