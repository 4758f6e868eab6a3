import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** The registry is queried out of turn at most this often for one query, however many callers want it verified. */
const VERIFY_INTERVAL_MS = 1000;

/** Queries the registry out of turn: once for all waiting callers, and at a limited pace. */
export class Verifier {
	readonly #clock: Clock;
	readonly #ask: () => void;
	#isWanted = false;
	#earliestMs = Number.NEGATIVE_INFINITY;
	#timer: TimerHandle | undefined;

	/** `ask` must lead to an answer or a failure, which must call `done`. */
	constructor(clock: Clock, ask: () => void) {
		this.#clock = clock;
		this.#ask = ask;
	}

	/** Asks now or as soon as the pace allows, unless a query is in flight. */
	request(): void {
		if (this.#isWanted) return;
		this.#isWanted = true;
		const waitMs = this.#earliestMs - this.#clock.now();
		if (waitMs <= 0) {
			this.#start();
			return;
		}
		this.#timer = this.#clock.setTimeout(() => this.#start(), waitMs);
		this.#timer.unref?.();
	}

	/** The registry has answered or failed, asked or not; or no caller waits any more. */
	done(): void {
		this.#isWanted = false;
		this.#clock.clearTimeout(this.#timer);
	}

	#start(): void {
		this.#earliestMs = this.#clock.now() + VERIFY_INTERVAL_MS;
		this.#ask();
	}
}

/** How often an empty answer is checked, each time after twice the delay: finds one that is wrong for minutes. */
export const RECHECKS_MAX = 4;

/** Queries again, after increasing delays, while the answer is empty. */
export class EmptyRecheck {
	readonly #clock: Clock;
	readonly #firstMs: number;
	readonly #ask: () => void;
	#count = 0;
	#timer: TimerHandle | undefined;

	/** `firstMs`: the first delay; 0 for never. */
	constructor(clock: Clock, firstMs: number, ask: () => void) {
		this.#clock = clock;
		this.#firstMs = firstMs;
		this.#ask = ask;
	}

	/** The query was answered. */
	answered(isEmpty: boolean): void {
		if (!isEmpty) this.stop();
		else if (this.#timer === undefined) this.#arm();
	}

	stop(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#count = 0;
	}

	#arm(): void {
		if (this.#firstMs === 0 || this.#count >= RECHECKS_MAX) return;
		const delayMs = this.#firstMs * 2 ** this.#count++;
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			this.#ask();
			// The answer has not come yet, or was not asked for.
			if (this.#timer === undefined) this.#arm();
		}, delayMs);
		this.#timer.unref?.();
	}
}
