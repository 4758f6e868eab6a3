import { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort, type TimerHandle } from '@spock/protocol/internal';

import { DatacenterTurns, type Waiting } from './datacenter-turns.ts';

/**
 * Queries at once at one address, of those that do not block. Measured with 2,000 of an address that was killed, at a Consul that shares two
 * busy processors with others: all agree again after 1.4 to 6.6 s; with 256 at once after 1.7 to 22 s, without a limit after 3.5 to 18 s.
 */
const IN_FLIGHT_MAX = 32;
/** One of the own datacenter that takes longer does not count any more: a slow query must not keep the others waiting. */
const SLOW_MS = 100;
/** But so many at most, however slow they are. */
const OWN_MAX = 96;
/** A datacenter with a query that takes longer than this does not answer, as far as is known. */
const HUNG_MS = 3000;
/** Queries at once to one datacenter that does not answer, or has not answered yet. */
const UNANSWERED_MAX = 2;
/** And to all of those; half of what other datacenters may have, where that is less. */
const UNANSWERED_IN_ALL_MAX = 8;
/** However little room there is, other datacenters may have so many queries at once. */
const OTHERS_MIN = 4;
/** Room that other datacenters leave to the own one. */
const OWN_ROOM = 6;
/** Of the room of other datacenters, what one of them may have. */
const ONE_SHARE = 0.75;
/** Other datacenters of which it is remembered that they answer. */
const ANSWERING_MAX = 256;

/** A query that asks for its turn. */
export interface Turn {
	/** Nothing was answered to it before: a client may wait for it. */
	readonly isFirst: boolean;
	/** It has its turn by then, or is rejected. */
	readonly untilMs: number;
	/** It has its turn. */
	readonly taken: () => void;
	/** Whose servers answer it. Default: those of the own datacenter. */
	readonly datacenter?: string | undefined;
}

/** Ends a query: whether its datacenter has answered; undefined where that is unknown. */
export type EndTurn = (isAnswered?: boolean) => void;

/** The queries of one datacenter. */
interface Share {
	readonly datacenter: string | undefined;
	/** Since when each is in flight, oldest first. */
	readonly inFlight: Map<object, number>;
	readonly waiting: DatacenterTurns;
}

/**
 * Lets so many queries at once go to one address, and counts each until it ends. When an address fails that held a thousand, all are asked
 * again at the next one: at once they would share its processors, and the last would be answered after its deadline, to be asked again.
 * A datacenter that does not answer has a small share, so that what hangs there leaves room for all others.
 */
export class InFlightGate {
	readonly #clock: Clock;
	readonly #room: () => number;
	/** By datacenter, those with queries; the one that was served last is last. */
	readonly #shares = new Map<string | undefined, Share>();
	/** Of other datacenters, those with queries in flight. */
	readonly #busy = new Set<Share>();
	readonly #answering = new Set<string>();
	#waiting = 0;
	#timer: TimerHandle | undefined;

	/** `room`: how many queries have a connection at once, now. Default: any number. */
	constructor(clock: Clock, room: () => number = () => Number.POSITIVE_INFINITY) {
		this.#clock = clock;
		this.#room = room;
	}

	/** Queries that wait for their turn. */
	get waiting(): number {
		return this.#waiting;
	}

	/**
	 * Resolves when the query has its turn; call what it gives when the query has ended. Rejects with UNAVAILABLE, where it has none in time,
	 * with ABORTED, and with CLOSED.
	 */
	enter({ isFirst, untilMs, taken, datacenter }: Turn, signal: AbortSignal | undefined): Promise<EndTurn> | EndTurn {
		const share = this.#shareOf(datacenter);
		if (share.waiting.size === 0 && this.#hasRoom(share)) {
			taken();
			return this.#begin(share);
		}
		return new Promise((resolve, reject) => {
			const leave = (): void => {
				if (share.waiting.delete(waiting)) this.#waiting--;
				this.#clock.clearTimeout(timer);
				offAbort(signal, abort);
				this.#forget(share);
				if (this.waiting === 0) this.#disarm();
			};
			const waiting: Waiting = {
				isFirst,
				admit: () => {
					const end = this.#begin(share);
					leave();
					taken();
					resolve(end);
				},
				reject: (error) => {
					leave();
					reject(error);
				},
			};
			const abort = (): void =>
				waiting.reject(new SpockError('ABORTED', 'the call to Consul was aborted', { cause: signal?.reason }));
			const waitMs = Math.max(0, untilMs - this.#clock.now());
			const timer = this.#clock.setTimeout(() => waiting.reject(tooMany(waitMs, share)), waitMs);
			if (signal?.aborted) {
				abort();
				return;
			}
			if (signal !== undefined) onAbort(signal, abort);
			share.waiting.add(waiting);
			this.#waiting++;
			this.#arm();
		});
	}

	/** Rejects all that wait with CLOSED. */
	close(): void {
		for (const { waiting } of [...this.#shares.values()]) {
			for (const one of waiting.all()) one.reject(new SpockError('CLOSED', 'the connection to Consul was closed'));
		}
	}

	#shareOf(datacenter: string | undefined): Share {
		let share = this.#shares.get(datacenter);
		if (share === undefined) {
			share = { datacenter, inFlight: new Map(), waiting: new DatacenterTurns() };
			this.#shares.set(datacenter, share);
		}
		return share;
	}

	#forget(share: Share): void {
		if (share.inFlight.size === 0 && share.waiting.size === 0 && this.#shares.get(share.datacenter) === share) {
			this.#shares.delete(share.datacenter);
		}
	}

	#begin(share: Share): EndTurn {
		const query = {};
		share.inFlight.set(query, this.#clock.now());
		if (share.datacenter !== undefined) this.#busy.add(share);
		return (isAnswered) => {
			if (!share.inFlight.delete(query)) return;
			if (share.inFlight.size === 0) this.#busy.delete(share);
			if (isAnswered !== undefined && share.datacenter !== undefined) this.#judge(share.datacenter, isAnswered);
			this.#admit();
			this.#forget(share);
		};
	}

	#judge(datacenter: string, isAnswered: boolean): void {
		this.#answering.delete(datacenter);
		if (!isAnswered) return;
		const [oldest] = this.#answering;
		if (this.#answering.size >= ANSWERING_MAX) this.#answering.delete(oldest as string);
		this.#answering.add(datacenter);
	}

	#hasRoom(share: Share): boolean {
		const { datacenter, inFlight } = share;
		if (datacenter === undefined) return inFlight.size < OWN_MAX && this.#isQuick(inFlight) < IN_FLIGHT_MAX;
		const max = Math.min(IN_FLIGHT_MAX, Math.max(OTHERS_MIN, this.#room() - OWN_ROOM));
		if (sum(this.#busy, (one) => one.inFlight.size) >= max) return false;
		if (this.#answers(share)) return inFlight.size < Math.ceil(max * ONE_SHARE);
		const unanswered = sum(this.#busy, (one) => (this.#answers(one) ? 0 : Math.min(UNANSWERED_MAX, one.inFlight.size)));
		return inFlight.size < UNANSWERED_MAX && unanswered < Math.min(UNANSWERED_IN_ALL_MAX, Math.floor(max / 2));
	}

	#isQuick(inFlight: ReadonlyMap<object, number>): number {
		const nowMs = this.#clock.now();
		let slow = 0;
		for (const atMs of inFlight.values()) {
			if (nowMs - atMs < SLOW_MS) break;
			slow++;
		}
		return inFlight.size - slow;
	}

	#answers({ datacenter, inFlight }: Share): boolean {
		const [oldestAtMs = this.#clock.now()] = inFlight.values();
		return this.#answering.has(datacenter as string) && this.#clock.now() - oldestAtMs < HUNG_MS;
	}

	/** One of each datacenter in turn, so that none has to wait for all of another's. */
	#admit(): void {
		let isServed = true;
		while (isServed) {
			isServed = false;
			for (const share of [...this.#shares.values()]) {
				if (share.waiting.size === 0 || !this.#hasRoom(share)) continue;
				this.#shares.delete(share.datacenter);
				this.#shares.set(share.datacenter, share);
				share.waiting.next()?.admit();
				isServed = true;
			}
		}
		this.#arm();
	}

	/** While some of the own datacenter wait, those that take too long make room. */
	#arm(): void {
		if (this.#timer !== undefined || this.waiting === 0) return;
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			this.#admit();
		}, this.#slowInMs());
	}

	#slowInMs(): number {
		const own = this.#shares.get(undefined);
		if (own === undefined || own.waiting.size === 0) return SLOW_MS;
		const nowMs = this.#clock.now();
		for (const atMs of own.inFlight.values()) if (nowMs - atMs < SLOW_MS) return Math.max(1, atMs + SLOW_MS - nowMs);
		return SLOW_MS;
	}

	#disarm(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}

function tooMany(waitMs: number, { datacenter, waiting }: Share): SpockError {
	const where = datacenter === undefined ? '' : ` of the datacenter ${JSON.stringify(datacenter)}`;
	const message = `not sent to Consul within ${Math.round(waitMs)} ms: ${waiting.size} queries${where} wait for their turn`;
	return new SpockError('UNAVAILABLE', message, { details: { isQueued: true } });
}

function sum<T>(all: Iterable<T>, of: (one: T) => number): number {
	let total = 0;
	for (const one of all) total += of(one);
	return total;
}
