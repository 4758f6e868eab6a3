import type { ServiceInstance, ServiceSnapshot } from '@spock/protocol';
import type { Random } from '@spock/protocol/internal';

import { InstanceRecord } from './instance-record.ts';
import type { BalancingPolicy } from './policies.ts';
import { rendezvous } from './rendezvous.ts';
import { servedInstances } from './served-instances.ts';
import { planWork, type WorkPlan, type WorkRules } from './work-plan.ts';

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
 * without a key go round. In a panic zones do not matter: what the registry says of their health is not believed.
 */
export function createPicker(
	policy: BalancingPolicy,
	snapshot: ServiceSnapshot,
	{ rules, ...options }: PickerOptions & { readonly rules?: WorkRules } = {},
): Picker {
	const { instances, panic } = snapshot;
	const applied = panic === true ? { ...rules, zone: undefined } : rules;
	return plannedPicker(policy, planWork(policy, servedInstances(snapshot), instances, applied), options);
}

/** A picker over these instances, whatever their status: as `createPicker` else. */
export function pickerOver(
	policy: BalancingPolicy,
	serving: readonly ServiceInstance[],
	options: PickerOptions = {},
): Picker {
	return plannedPicker(policy, { serving, groups: [{ share: 1, instances: serving }] }, options);
}

/** A picker that gives every instance the share of the work that the plan says; one with a key goes by the key alone. */
export function plannedPicker(
	policy: BalancingPolicy,
	{ groups, serving }: Pick<WorkPlan<ServiceInstance>, 'groups' | 'serving'>,
	options: PickerOptions = {},
): Picker {
	const turns = groups.map(({ instances }) => turnOf(policy, instances, options));
	const [only = turnOf(policy, [], options)] = turns;
	const { random = Math.random } = options;
	const shares = groups.map(({ share }) => share);
	return new KeyedPicker(policy, serving, turns.length < 2 ? only : new ShareTurn(turns, shares, random()));
}

/** Whose turn is next, by one policy. */
interface Turn {
	next(): ServiceInstance | undefined;
}

function turnOf(
	policy: BalancingPolicy,
	serving: readonly ServiceInstance[],
	{ random = Math.random, recordOf = () => new InstanceRecord(), now = () => 0 }: PickerOptions,
): Turn {
	switch (policy) {
		case 'round-robin':
		case 'consistent-hash':
			return new RoundRobinTurn(serving, Math.floor(random() * serving.length));
		case 'random':
			return new RandomTurn(serving, random);
		case 'weighted':
			return new WeightedTurn(serving, random);
		case 'least-in-flight':
		case 'least-latency':
			return new TwoChoicesTurn(policy, serving, recordOf, random, now);
	}
}

/** By the key where there is one, under every policy. */
class KeyedPicker implements Picker {
	readonly policy: BalancingPolicy;
	readonly #serving: readonly ServiceInstance[];
	readonly #turn: Turn;

	constructor(policy: BalancingPolicy, serving: readonly ServiceInstance[], turn: Turn) {
		this.policy = policy;
		this.#serving = serving;
		this.#turn = turn;
	}

	pick(options?: PickOptions): ServiceInstance | undefined {
		return options?.key === undefined ? this.#turn.next() : rendezvous(this.#serving, options.key);
	}
}

/** The points of a share: small integers, which are computed in registers. */
const POINTS = 2 ** 30;
/** The golden part of all points: its multiples, modulo all points, fill the range evenly, from the first ones on. */
const GOLDEN = Math.round((POINTS * (Math.sqrt(5) - 1)) / 2);

/**
 * Groups, each with its share of the picks. Which group is next is not drawn but follows an even sequence (Weyl's, of the golden ratio), so
 * that each is within a few picks of its share, where draws would stray by the square root of their number.
 */
class ShareTurn implements Turn {
	readonly #turns: readonly Turn[];
	/** ends[i] is where the points of group i end. */
	readonly #ends: Int32Array;
	#point: number;

	constructor(turns: readonly Turn[], shares: readonly number[], start: number) {
		this.#turns = turns;
		this.#ends = Int32Array.from(runningSums(shares), (end) => Math.round(end * POINTS));
		// Every point is below it, whatever the sums were rounded to.
		this.#ends[shares.length - 1] = POINTS;
		this.#point = Math.floor(start * POINTS);
	}

	next(): ServiceInstance | undefined {
		const ends = this.#ends;
		const point = (this.#point + GOLDEN) & (POINTS - 1);
		this.#point = point;
		let index = 0;
		while (point >= (ends[index] as number)) index++;
		return (this.#turns[index] as Turn).next();
	}
}

/**
 * Each serving instance in turn. Starts at `offset`, which callers draw at random: a thousand clients that start together
 * do not all begin with the first instance.
 */
class RoundRobinTurn implements Turn {
	readonly #serving: readonly ServiceInstance[];
	#next: number;

	constructor(serving: readonly ServiceInstance[], offset: number) {
		this.#serving = serving;
		this.#next = offset;
	}

	next(): ServiceInstance | undefined {
		const serving = this.#serving;
		if (this.#next >= serving.length) this.#next = 0;
		return serving[this.#next++];
	}
}

/** Any serving instance, all equally likely. */
class RandomTurn implements Turn {
	readonly #serving: readonly ServiceInstance[];
	readonly #random: Random;

	constructor(serving: readonly ServiceInstance[], random: Random) {
		this.#serving = serving;
		this.#random = random;
	}

	next(): ServiceInstance | undefined {
		return this.#serving[Math.floor(this.#random() * this.#serving.length)];
	}
}

/**
 * Each serving instance with a chance in proportion to its weight. Weights are 0 only where all are: then all are equal.
 */
class WeightedTurn implements Turn {
	readonly #serving: readonly ServiceInstance[];
	/** sums[i] is the weight of the instances up to and with i: a pick is one binary search. */
	readonly #sums: Float64Array;
	readonly #random: Random;

	constructor(serving: readonly ServiceInstance[], random: Random) {
		this.#serving = serving;
		this.#sums = runningSums(serving.map(({ weight }) => weight || 1));
		this.#random = random;
	}

	next(): ServiceInstance | undefined {
		let low = 0;
		let high = this.#serving.length - 1;
		const point = this.#random() * (this.#sums[high] ?? 0);
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
class TwoChoicesTurn implements Turn {
	readonly #policy: 'least-in-flight' | 'least-latency';
	readonly #serving: readonly ServiceInstance[];
	/** One for each of `serving`. */
	readonly #records: readonly InstanceRecord[];
	readonly #random: Random;
	readonly #now: () => number;

	constructor(
		policy: 'least-in-flight' | 'least-latency',
		serving: readonly ServiceInstance[],
		recordOf: (instance: ServiceInstance) => InstanceRecord,
		random: Random,
		now: () => number,
	) {
		this.#policy = policy;
		this.#serving = serving;
		this.#records = serving.map(recordOf);
		this.#random = random;
		this.#now = now;
	}

	next(): ServiceInstance | undefined {
		const serving = this.#serving;
		const { length } = serving;
		if (length < 2) return serving[0];
		const first = Math.floor(this.#random() * length);
		const other = Math.floor(this.#random() * (length - 1));
		const second = other < first ? other : other + 1;
		const nowMs = this.#policy === 'least-latency' ? this.#now() : 0;
		return serving[this.#load(first, nowMs) <= this.#load(second, nowMs) ? first : second];
	}

	/** In proportion to the weight; weights are 0 only where all are. */
	#load(index: number, nowMs: number): number {
		const record = this.#records[index] as InstanceRecord;
		const load = this.#policy === 'least-latency' ? record.cost(nowMs) : record.inFlight + 1;
		return load / ((this.#serving[index] as ServiceInstance).weight || 1);
	}
}

function runningSums(numbers: readonly number[]): Float64Array {
	let sum = 0;
	return Float64Array.from(numbers, (number) => {
		sum += number;
		return sum;
	});
}
