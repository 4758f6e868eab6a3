import { SpockError } from '@spock/protocol';
import { type Clock, offAbort, onAbort, type TimerHandle } from '@spock/protocol/internal';

/**
 * Queries at once at one address, of those that do not block. Measured with 2,000 of an address that was killed, at a Consul that shares two
 * busy processors with others: all agree again after 1.4 to 6.6 s; with 256 at once after 1.7 to 22 s, without a limit after 3.5 to 18 s.
 */
const IN_FLIGHT_MAX = 32;
/** One that takes longer does not count any more: a slow query, or an address that hangs, must not keep the others waiting. */
const SLOW_MS = 100;
/** First lookups in a row, which clients wait for, after which one that is read again has its turn. */
const FIRST_IN_ROW_MAX = 3;

/** A query that asks for its turn. */
export interface Turn {
	/** Nothing was answered to it before: a client may wait for it. */
	readonly isFirst: boolean;
	/** It has its turn by then, or is rejected. */
	readonly untilMs: number;
	/** It has its turn. */
	readonly taken: () => void;
}

interface Waiting {
	readonly admit: () => void;
	readonly reject: (error: SpockError) => void;
}

/**
 * Lets so many queries at once go to one address. When an address fails that held a thousand, all are asked again at the next one: at
 * once they would share its processors, and the last would be answered after its deadline, to be asked again.
 */
export class InFlightGate {
	readonly #clock: Clock;
	/** Since when each is in flight, oldest first. */
	readonly #inFlight = new Map<object, number>();
	readonly #first = new Set<Waiting>();
	readonly #others = new Set<Waiting>();
	#firstInRow = 0;
	#timer: TimerHandle | undefined;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Queries that wait for their turn. */
	get waiting(): number {
		return this.#first.size + this.#others.size;
	}

	/**
	 * Resolves when the query has its turn; call what it gives when the query has ended. Rejects with UNAVAILABLE, where it has none in time,
	 * with ABORTED, and with CLOSED.
	 */
	enter({ isFirst, untilMs, taken }: Turn, signal: AbortSignal | undefined): Promise<() => void> | (() => void) {
		if (this.waiting === 0 && this.#inFlight.size < IN_FLIGHT_MAX) {
			taken();
			return this.#begin();
		}
		return new Promise((resolve, reject) => {
			const queue = isFirst ? this.#first : this.#others;
			const leave = (): void => {
				queue.delete(waiting);
				this.#clock.clearTimeout(timer);
				offAbort(signal, abort);
				if (this.waiting === 0) this.#disarm();
			};
			const waiting: Waiting = {
				admit: () => {
					leave();
					taken();
					resolve(this.#begin());
				},
				reject: (error) => {
					leave();
					reject(error);
				},
			};
			const abort = (): void =>
				waiting.reject(new SpockError('ABORTED', 'the call to Consul was aborted', { cause: signal?.reason }));
			const waitMs = Math.max(0, untilMs - this.#clock.now());
			const timer = this.#clock.setTimeout(() => waiting.reject(tooMany(waitMs, this.waiting)), waitMs);
			if (signal?.aborted) {
				abort();
				return;
			}
			if (signal !== undefined) onAbort(signal, abort);
			queue.add(waiting);
			this.#arm();
		});
	}

	/** Rejects all that wait with CLOSED. */
	close(): void {
		for (const waiting of [...this.#first, ...this.#others])
			waiting.reject(new SpockError('CLOSED', 'the connection to Consul was closed'));
	}

	#begin(): () => void {
		const query = {};
		this.#inFlight.set(query, this.#clock.now());
		return () => {
			if (this.#inFlight.delete(query)) this.#admit();
		};
	}

	#admit(): void {
		while (this.#inFlight.size < IN_FLIGHT_MAX) {
			const next = this.#next();
			if (next === undefined) break;
			next.admit();
		}
		this.#arm();
	}

	#next(): Waiting | undefined {
		const [first] = this.#first;
		const [other] = this.#others;
		const isOthersTurn = first === undefined || (other !== undefined && this.#firstInRow >= FIRST_IN_ROW_MAX);
		this.#firstInRow = isOthersTurn ? 0 : this.#firstInRow + 1;
		return isOthersTurn ? other : first;
	}

	/** While some wait, those that take too long make room. */
	#arm(): void {
		if (this.waiting === 0 || this.#timer !== undefined) return;
		const [oldestAtMs = this.#clock.now()] = this.#inFlight.values();
		this.#timer = this.#clock.setTimeout(
			() => {
				this.#timer = undefined;
				const nowMs = this.#clock.now();
				for (const [query, atMs] of this.#inFlight) {
					if (nowMs - atMs < SLOW_MS) break;
					this.#inFlight.delete(query);
				}
				this.#admit();
			},
			Math.max(1, oldestAtMs + SLOW_MS - this.#clock.now()),
		);
	}

	#disarm(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}

function tooMany(waitMs: number, waiting: number): SpockError {
	const message = `not sent to Consul within ${Math.round(waitMs)} ms: ${waiting} queries wait for their turn`;
	return new SpockError('UNAVAILABLE', message, { details: { isQueued: true } });
}
