import type { CheckStatus, ServiceInstance } from '@spock/protocol';

/** Checks kept for each instance: the worst of them, where a registry has more. */
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

/** Gives instances that stay the checks of their equals in a newer list, which has the same order. */
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
