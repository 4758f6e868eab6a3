import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** One thing that is due later: at most one timer of the clock runs for it. */
export class OneTimer {
	readonly #clock: Clock;
	readonly #due: () => void;
	readonly #unref: boolean;
	#timer: TimerHandle | undefined;

	/** With `unref`, which is the default, the timer never keeps the process alive. */
	constructor(clock: Clock, due: () => void, unref = true) {
		this.#clock = clock;
		this.#due = due;
		this.#unref = unref;
	}

	/** True while it is due later. */
	get pending(): boolean {
		return this.#timer !== undefined;
	}

	/** Calls `due` after this delay, unless it is due already. */
	arm(delayMs: number): void {
		this.#timer ??= this.#clock.setTimeout(() => {
			this.#timer = undefined;
			this.#due();
		}, delayMs);
		if (this.#unref) this.#timer.unref?.();
	}

	cancel(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}
