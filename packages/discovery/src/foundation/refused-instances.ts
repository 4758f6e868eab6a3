import type { RefusedInstance, ServiceInstance } from '@spock/protocol';

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

/** Remembers what a list is without. */
export function rememberRefused(list: readonly ServiceInstance[], bad: Refused): void {
	refused.set(list, bad);
}

/** True for a list that was looked through. */
export function isLookedThrough(list: readonly ServiceInstance[]): boolean {
	return refused.has(list);
}

/** What a list is without. */
export function refusedOf(list: readonly ServiceInstance[]): Refused {
	return refused.get(list) ?? NONE_REFUSED;
}

/** True if two lists are without the same instances, for the same reasons. */
export function isSameRefused(before: Refused, after: Refused): boolean {
	if (before === after) return true;
	if (before.count !== after.count) return false;
	return before.instances.every(({ instance, reason }, index) => {
		const other = after.instances[index];
		return instance === other?.instance && reason === other.reason;
	});
}
