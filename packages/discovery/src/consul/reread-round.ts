import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** More often than this no round looks whose turn it is: what is due by then has its turn together. */
const TICK_MS_MIN = 5;

/** What a {@link RereadRound} needs. */
export interface RereadRoundOptions<T> {
	readonly clock: Clock;
	/** Within this time all of them have their turn, evenly spread. */
	readonly lengthMs: number;
	/** Nobody has a turn before this has passed since it was added. */
	readonly restMs: number;
	/** How many there may be. */
	readonly size: () => number;
	/** Gives a turn; false if it needs none any more. */
	readonly turn: (one: T) => boolean;
}

/** Gives turns to those who wait for one, so that a change which concerns all costs a trickle of queries and no burst. */
export class RereadRound<T> {
	readonly #options: RereadRoundOptions<T>;
	/** Since when each waits, the first in the first place. */
	readonly #waiting = new Map<T, number>();
	#timer: TimerHandle | undefined;

	constructor(options: RereadRoundOptions<T>) {
		this.#options = options;
	}

	/** Who waits already keeps the place. */
	add(one: T): void {
		if (!this.#waiting.has(one)) this.#waiting.set(one, this.#options.clock.now());
		this.#arm();
	}

	delete(one: T): void {
		this.#waiting.delete(one);
	}

	/** Idempotent; nobody has a turn after it. */
	stop(): void {
		this.#waiting.clear();
		this.#options.clock.clearTimeout(this.#timer);
	}

	#arm(): void {
		if (this.#timer !== undefined) return;
		const { clock, lengthMs, size } = this.#options;
		const eachMs = lengthMs / Math.max(1, size());
		const tickMs = Math.max(TICK_MS_MIN, Math.floor(eachMs));
		this.#timer = clock.setTimeout(() => {
			this.#timer = undefined;
			this.#giveTurns(Math.max(1, Math.ceil(tickMs / eachMs)));
			if (this.#waiting.size > 0) this.#arm();
		}, tickMs);
	}

	#giveTurns(count: number): void {
		const { clock, restMs, turn } = this.#options;
		const beforeMs = clock.now() - restMs;
		let left = count;
		for (const [one, sinceMs] of this.#waiting) {
			if (left === 0 || sinceMs > beforeMs) return;
			this.#waiting.delete(one);
			if (turn(one)) left--;
		}
	}
}
