import type { ServiceInstance } from '@spock/protocol';

/**
 * The instance with the highest score for this key (highest random weight, Thaler and Ravishankar 1998,
 * https://www.microsoft.com/en-us/research/publication/a-name-based-mapping-scheme-for-rendezvous/). Equal keys get equal
 * instances; when an instance leaves, only its own keys move. Costs one hash for each instance.
 */
export function rendezvous(serving: readonly ServiceInstance[], key: string): ServiceInstance | undefined {
	const keyHash = hash(key, FNV_OFFSET);
	let best: ServiceInstance | undefined;
	let bestScore = -1;
	for (const candidate of serving) {
		const score = mix(hash(candidate.instance, keyHash));
		// Serving instances are sorted by name, so equal scores are decided the same way everywhere.
		if (score > bestScore) {
			best = candidate;
			bestScore = score;
		}
	}
	return best;
}

/**
 * The `count` instances with the highest scores for this key, in their own order; all of them where there are no more. When one leaves,
 * the next one takes its place, and no other changes.
 */
export function subsetOf<I extends Pick<ServiceInstance, 'instance'>>(
	instances: readonly I[],
	count: number,
	key: string,
): readonly I[] {
	if (count >= instances.length) return instances;
	const keyHash = hash(key, FNV_OFFSET);
	// Mixed twice: keys such as `pod-1` and `pod-2` differ in a few bits, and must not rank the instances alike.
	const scores = instances.map(({ instance }) => mix(hash(instance, mix(keyHash))));
	const order = scores.map((_, index) => index);
	order.sort((left, right) => (scores[right] as number) - (scores[left] as number) || left - right);
	const chosen = order.slice(0, count).sort((left, right) => left - right);
	return chosen.map((index) => instances[index] as I);
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a over UTF-16 units: short names, no allocation. */
function hash(text: string, seed: number): number {
	let value = seed;
	for (let index = 0; index < text.length; index++) {
		value = Math.imul(value ^ text.charCodeAt(index), FNV_PRIME);
	}
	return value >>> 0;
}

/** The finisher of MurmurHash3: FNV's high bits alone spread short names badly. */
function mix(value: number): number {
	let mixed = value;
	mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
	mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
	return (mixed ^ (mixed >>> 16)) >>> 0;
}
