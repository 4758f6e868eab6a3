import type { WatchStatus } from '@spock/protocol';

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
	// Ten thousand are not sorted for the sake of twenty: that took longer than all the rest of a scrape.
	const oldest: ServiceAge[] = [];
	for (const age of byName.values()) {
		const last = oldest[max - 1];
		if (max === 0 || (last !== undefined && compareAges(age, last) > 0)) continue;
		let place = oldest.length;
		while (place > 0 && compareAges(age, oldest[place - 1] as ServiceAge) < 0) place--;
		oldest.splice(place, 0, age);
		if (oldest.length > max) oldest.pop();
	}
	return oldest;
}

function compareAges(left: ServiceAge, right: ServiceAge): number {
	// Of one outage all are equally old: whole seconds, so that milliseconds do not decide who is named.
	const seconds = Math.floor(right.ageMs / 1000) - Math.floor(left.ageMs / 1000);
	if (seconds !== 0) return seconds;
	return right.readers - left.readers || (left.service < right.service ? -1 : 1);
}
