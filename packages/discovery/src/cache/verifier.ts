import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** A registry is asked out of turn at most this often for one question, however many want it verified. */
const VERIFY_INTERVAL_MS = 1000;

/** Asks the registry out of turn: once for all who wait, and at a pace. */
export class Verifier {
	readonly #clock: Clock;
	readonly #ask: () => void;
	#isWanted = false;
	#earliestMs = Number.NEGATIVE_INFINITY;
	#timer: TimerHandle | undefined;

	/** `ask` must lead to an answer or a failure, which is told by `done`. */
	constructor(clock: Clock, ask: () => void) {
		this.#clock = clock;
		this.#ask = ask;
	}

	/** Asks now or as soon as the pace allows, unless that is under way. */
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

	/** The registry has answered or failed, asked or not; or nobody wants to know any more. */
	done(): void {
		this.#isWanted = false;
		this.#clock.clearTimeout(this.#timer);
	}

	#start(): void {
		this.#earliestMs = this.#clock.now() + VERIFY_INTERVAL_MS;
		this.#ask();
	}
}
