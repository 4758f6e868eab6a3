import type { ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import { InstanceRecord } from './instance-record.ts';
import { servedInstances } from './served-instances.ts';

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

/** Options of {@link createPicker}. */
export interface PickerOptions {
	/** Default `Math.random`. */
	readonly random?: Random;
	/** What is known of the calls to an instance, for the policies that need it. Default: nothing. */
	readonly recordOf?: (instance: ServiceInstance) => InstanceRecord;
	/** The clock of the records, in milliseconds. Default: stands still. */
	readonly now?: () => number;
}

/**
 * A picker over the instances of this snapshot that get work: see `servedInstances`. Under `consistent-hash`, picks
 * without a key go round.
 */
export function createPicker(policy: BalancingPolicy, snapshot: ServiceSnapshot, options: PickerOptions = {}): Picker {
	return pickerOver(policy, servedInstances(snapshot), options);
}

/** A picker over these instances, whatever their status: as `createPicker` else. */
export function pickerOver(
	policy: BalancingPolicy,
	serving: readonly ServiceInstance[],
	{ random = Math.random, recordOf = () => new InstanceRecord(), now = () => 0 }: PickerOptions = {},
): Picker {
	switch (policy) {
		case 'round-robin':
		case 'consistent-hash':
			return new RoundRobinPicker(serving, Math.floor(random() * serving.length), policy);
		case 'random':
			return new RandomPicker(serving, random);
		case 'weighted':
			return new WeightedPicker(serving, random);
		case 'least-in-flight':
		case 'least-latency':
			return new TwoChoicesPicker(policy, serving, recordOf, random, now);
	}
}

/**
 * Each serving instance in turn. Starts at `offset`, which callers draw at random: a thousand clients that start together
 * do not all begin with the first instance.
 */
class RoundRobinPicker implements Picker {
	readonly policy: 'round-robin' | 'consistent-hash';
	readonly #serving: readonly ServiceInstance[];
	#next: number;

	constructor(serving: readonly ServiceInstance[], offset: number, policy: RoundRobinPicker['policy']) {
		this.policy = policy;
		this.#serving = serving;
		this.#next = offset;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		if (options?.key !== undefined) return rendezvous(this.#serving, options.key);
		const serving = this.#serving;
		if (this.#next >= serving.length) this.#next = 0;
		return serving[this.#next++];
	}
}

/** Any serving instance, all equally likely. */
class RandomPicker implements Picker {
	readonly policy = 'random';
	readonly #serving: readonly ServiceInstance[];
	readonly #random: Random;

	constructor(serving: readonly ServiceInstance[], random: Random) {
		this.#serving = serving;
		this.#random = random;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		if (options?.key !== undefined) return rendezvous(this.#serving, options.key);
		return this.#serving[Math.floor(this.#random() * this.#serving.length)];
	}
}

/**
 * Each serving instance with a chance in proportion to its weight. Weights are 0 only where all are: then all are equal.
 */
class WeightedPicker implements Picker {
	readonly policy = 'weighted';
	readonly #serving: readonly ServiceInstance[];
	// sums[i] is the weight of the instances up to and with i: a pick is one binary search.
	readonly #sums: Float64Array;
	readonly #sum: number;
	readonly #random: Random;

	constructor(serving: readonly ServiceInstance[], random: Random) {
		this.#serving = serving;
		let sum = 0;
		this.#sums = Float64Array.from(this.#serving, ({ weight }) => {
			sum += weight || 1;
			return sum;
		});
		this.#sum = sum;
		this.#random = random;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		if (options?.key !== undefined) return rendezvous(this.#serving, options.key);
		const point = this.#random() * this.#sum;
		let low = 0;
		let high = this.#serving.length - 1;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.#sums[middle] as number) > point) high = middle;
			else low = middle + 1;
		}
		return this.#serving[low];
	}
}

/**
 * Of two instances drawn at random the one with less load: nearly as even as looking at all of them, and no herd runs to
 * the one that is best for a moment (Mitzenmacher 2001, https://www.eecs.harvard.edu/~michaelm/postscripts/tpds2001.pdf).
 */
class TwoChoicesPicker implements Picker {
	readonly policy: 'least-in-flight' | 'least-latency';
	readonly #serving: readonly ServiceInstance[];
	/** One for each of `serving`. */
	readonly #records: readonly InstanceRecord[];
	readonly #random: Random;
	readonly #now: () => number;

	constructor(
		policy: TwoChoicesPicker['policy'],
		serving: readonly ServiceInstance[],
		recordOf: (instance: ServiceInstance) => InstanceRecord,
		random: Random,
		now: () => number,
	) {
		this.policy = policy;
		this.#serving = serving;
		this.#records = serving.map(recordOf);
		this.#random = random;
		this.#now = now;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		const serving = this.#serving;
		if (options?.key !== undefined) return rendezvous(serving, options.key);
		const { length } = serving;
		if (length < 2) return serving[0];
		const first = Math.floor(this.#random() * length);
		const other = Math.floor(this.#random() * (length - 1));
		const second = other < first ? other : other + 1;
		const nowMs = this.policy === 'least-latency' ? this.#now() : 0;
		return serving[this.#load(first, nowMs) <= this.#load(second, nowMs) ? first : second];
	}

	/** In proportion to the weight; weights are 0 only where all are. */
	#load(index: number, nowMs: number): number {
		const record = this.#records[index] as InstanceRecord;
		const load = this.policy === 'least-latency' ? record.cost(nowMs) : record.inFlight + 1;
		return load / ((this.#serving[index] as ServiceInstance).weight || 1);
	}
}

/**
 * The instance with the highest score for this key (highest random weight, Thaler and Ravishankar 1998,
 * https://www.microsoft.com/en-us/research/publication/a-name-based-mapping-scheme-for-rendezvous/). Equal keys get equal
 * instances; when an instance leaves, only its own keys move. Costs one hash for each instance.
 */
function rendezvous(serving: readonly ServiceInstance[], key: string): ServiceInstance | undefined {
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
