import type { WatchStatus } from '@spock/protocol';

/** Services whose age is told by name, if nothing else is said. */
export const DEFAULT_METRICS_SERVICES_MAX = 20;

/** One service, whatever questions there are about it. */
export interface ServiceAge {
	readonly service: string;
	/** Of its oldest answer. */
	readonly ageMs: number;
	/** Of all its questions. */
	readonly readers: number;
}

/**
 * At most `max` services: those whose answers are oldest, and among equals, as most of them are while all is well, those with
 * most readers, so that a scrape names the same ones as the scrape before.
 */
export function oldestServices(
	watches: readonly Pick<WatchStatus, 'service' | 'ageMs' | 'readers'>[],
	max: number,
): readonly ServiceAge[] {
	const byName = new Map<string, { service: string; ageMs: number; readers: number }>();
	for (const { service, ageMs, readers } of watches) {
		const known = byName.get(service);
		if (known === undefined) byName.set(service, { service, ageMs, readers });
		else {
			known.ageMs = Math.max(known.ageMs, ageMs);
			known.readers += readers;
		}
	}
	return [...byName.values()].sort(compareAges).slice(0, max);
}

function compareAges(left: ServiceAge, right: ServiceAge): number {
	// Of one outage all are equally old: whole seconds, so that milliseconds do not decide who is named.
	const seconds = Math.floor(right.ageMs / 1000) - Math.floor(left.ageMs / 1000);
	if (seconds !== 0) return seconds;
	return right.readers - left.readers || (left.service < right.service ? -1 : 1);
}
