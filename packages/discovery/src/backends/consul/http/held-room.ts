import type { Clock } from '@spock/protocol/internal';

import { DEFAULT_HELD_MAX } from '../client/consul-options.ts';
import { URGENT_SOCKETS_MAX } from '../client/urgent-sockets.ts';

/** Beyond the limit, for what else is held where services use all of that: keys, and indexes. */
const OTHERS_MAX = 24;
/** And for reads that are not held. */
const CALLS_MAX = 12;
/** Where an agent allows more than its default, or has no limit for this machine: a query costs 25 KB here, and a connection and a goroutine there. */
const ALLOWED_MAX = 4000;
/** Queries that are held at an address where they share connections: as many as there may be questions. */
const MULTIPLEXED_MAX = 10_000;
/** However little room there seems to be, so much is tried. */
const LIMIT_MIN = 8;
/** An address that has refused a connection is believed to have room for so much less than it holds. */
const LOWERED = 0.9;
/** One refusal counts, of those that come together. */
const LOWER_MS = 500;
/** The limit grows again, by so much of the greatest each time that this has passed without a refusal. */
const RAISE_MS = 60_000;
const RAISED = 0.05;
/** An address that has failed, or has no room, is not given more to hold for so long; one that has failed, unless it answers before. */
const DOWN_MS = 10_000;

/** How many connections may be open to an address at once, besides urgent ones. */
export function socketsMax(heldMax: number): number {
	return heldMax + OTHERS_MAX + CALLS_MAX;
}

/** The right to hold one query at an address, whichever that is: it moves where the address fails or a better one has room. */
export interface HeldPlace {
	/** The number of the address; undefined once it is given up. */
	readonly number: number | undefined;
	/** Moves to the first of the addresses from `first` on that is well and has room, if one is; where to ask now. */
	settle(first: number): number;
	/** Moves to an address; false where that has no room. */
	move(number: number): boolean;
	/** Idempotent. */
	release(): void;
}

interface Address {
	/** Places, whether or not their queries are on their way. */
	places: number;
	/** Queries of others that are held now. */
	others: number;
	limit: number;
	limitMax: number;
	/** When the limit was set last. */
	limitedAtMs: number;
	refusedAtMs: number;
	downUntilMs: number;
	/** It was well once. */
	isKnown: boolean;
}

/** What there is room for at each address of Consul, as far as is known: the limit that we keep may be lower than Consul's. */
export class HeldRoom {
	readonly #clock: Clock;
	readonly #heldMax: number;
	readonly #isGiven: boolean;
	readonly #addresses: readonly Address[];

	/** `heldMax`: for each address, whatever that has room for. Default: {@link DEFAULT_HELD_MAX}, or more where that is known. */
	constructor(clock: Clock, count: number, heldMax: number | undefined) {
		this.#clock = clock;
		this.#isGiven = heldMax !== undefined;
		this.#heldMax = heldMax ?? DEFAULT_HELD_MAX;
		this.#addresses = Array.from({ length: count }, () => ({
			places: 0,
			others: 0,
			limit: this.#heldMax,
			limitMax: this.#heldMax,
			limitedAtMs: Number.NEGATIVE_INFINITY,
			refusedAtMs: Number.NEGATIVE_INFINITY,
			downUntilMs: Number.NEGATIVE_INFINITY,
			isKnown: false,
		}));
	}

	/** A place at the first address from `first` on that is well and has room; undefined if none is. */
	take(first: number): HeldPlace | undefined {
		const number = this.#inOrder(first).find((one) => this.#isWell(one) && this.#hasRoom(one));
		return number === undefined ? undefined : this.#place(number);
	}

	/** Whether there are more places at its address than there is room for now. */
	isOver({ number }: HeldPlace): boolean {
		return number !== undefined && this.#at(number).places > this.#at(number).limit;
	}

	/** One more query that is held there without a place; false where there is no room. Call `leave` when it has ended. */
	enter(number: number): boolean {
		const address = this.#at(number);
		if (address.places + address.others >= address.limit + OTHERS_MAX) return false;
		address.others++;
		return true;
	}

	leave(number: number): void {
		this.#at(number).others--;
	}

	/** An address has refused a connection because there are too many; `isElsewhere`: others that follow come from a further address. */
	refused(number: number, isElsewhere: boolean): void {
		const address = this.#at(number);
		const nowMs = this.#clock.now();
		address.refusedAtMs = nowMs;
		if (isElsewhere || nowMs - address.limitedAtMs < LOWER_MS) return;
		const limit = Math.floor(Math.min(address.limit, address.places) * LOWERED);
		address.limit = Math.max(Math.min(LIMIT_MIN, this.#heldMax), limit);
		address.limitedAtMs = nowMs;
	}

	/** It takes no more from further addresses of this machine. */
	narrowed(number: number): void {
		const address = this.#at(number);
		// What was refused at the same moment shows no more than this.
		address.limitedAtMs = this.#clock.now();
		address.limitMax = Math.min(address.limitMax, DEFAULT_HELD_MAX);
		address.limit = Math.min(address.limit, address.limitMax);
	}

	/** The address takes hundreds of calls on one connection. */
	multiplexed(number: number): void {
		const address = this.#at(number);
		// A limit that was given is kept: it is a promise to Consul.
		if (this.#isGiven || address.limitMax >= MULTIPLEXED_MAX) return;
		address.limit = MULTIPLEXED_MAX;
		address.limitMax = MULTIPLEXED_MAX;
	}

	/** Whether as many queries are held as the address has places, and its agent, which is well, may allow more of them. */
	isUsedUp(number: number): boolean {
		const { places, others, limit, limitMax, isKnown } = this.#at(number);
		return isKnown && places + others >= limit && limitMax < ALLOWED_MAX && this.#isWell(number);
	}

	/** Whether some address is well, and none of these has room for one more place. */
	get isFull(): boolean {
		const well = [...this.#addresses.keys()].filter((number) => this.#isWell(number));
		return well.length > 0 && !well.some((number) => this.#hasRoom(number));
	}

	/** The agent allows one client so many connections; 0: any number. Returns true if there is room for more than before. */
	allowed(number: number, connectionsMax: number): boolean {
		const address = this.#at(number);
		const held =
			connectionsMax === 0
				? ALLOWED_MAX
				: Math.min(ALLOWED_MAX, connectionsMax - OTHERS_MAX - CALLS_MAX - URGENT_SOCKETS_MAX);
		if (held <= address.limitMax) return false;
		address.limit = held;
		address.limitMax = held;
		return true;
	}

	/** How many connections may be open to an address at once. */
	socketsMax(number: number): number {
		return socketsMax(this.#at(number).limitMax);
	}

	/** How many of those are not taken by what is held; any number where an address shares its connections. */
	callsMax(number: number): number {
		const { limitMax, places, others } = this.#at(number);
		return limitMax >= MULTIPLEXED_MAX ? Number.POSITIVE_INFINITY : socketsMax(limitMax) - places - others;
	}

	failed(number: number): void {
		this.#at(number).downUntilMs = this.#clock.now() + DOWN_MS;
	}

	/** True the first time. */
	answered(number: number): boolean {
		const address = this.#at(number);
		const isFirst = !address.isKnown;
		address.isKnown = true;
		address.downUntilMs = Number.NEGATIVE_INFINITY;
		return isFirst;
	}

	#place(at: number): HeldPlace {
		let number: number | undefined = at;
		this.#at(at).places++;
		const move = (to: number): boolean => {
			if (to === number) return true;
			if (number === undefined || !this.#hasRoom(to)) return false;
			this.#at(number).places--;
			this.#at(to).places++;
			number = to;
			return true;
		};
		return {
			get number() {
				return number;
			},
			settle: (first) => {
				const better = this.#inOrder(first).find((one) => this.#isWell(one) && (one === number || this.#hasRoom(one)));
				if (better !== undefined) move(better);
				return number ?? first;
			},
			move,
			release: () => {
				if (number !== undefined) this.#at(number).places--;
				number = undefined;
			},
		};
	}

	#inOrder(first: number): readonly number[] {
		const count = this.#addresses.length;
		return this.#addresses.map((_, number) => (first + number) % count);
	}

	#isWell(number: number): boolean {
		return this.#at(number).downUntilMs <= this.#clock.now();
	}

	#hasRoom(number: number): boolean {
		const address = this.#at(number);
		this.#raise(address);
		if (this.#clock.now() - address.refusedAtMs < DOWN_MS) return false;
		return address.places < address.limit && address.places + address.others < address.limit + OTHERS_MAX;
	}

	#raise(address: Address): void {
		const nowMs = this.#clock.now();
		if (address.limit >= address.limitMax || nowMs - address.limitedAtMs < RAISE_MS) return;
		address.limit = Math.min(address.limitMax, address.limit + Math.ceil(address.limitMax * RAISED));
		address.limitedAtMs = nowMs;
	}

	#at(number: number): Address {
		return this.#addresses[number] as Address;
	}
}
