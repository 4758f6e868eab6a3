import type { HoldStatus } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** One empty answer that is held back: since when, and until when. */
export class EmptyHold {
	readonly #clock: Clock;
	readonly #holdMs: number;
	#sinceMs: number | undefined;
	#timer: TimerHandle | undefined;

	constructor(clock: Clock, holdMs: number) {
		this.#clock = clock;
		this.#holdMs = holdMs;
	}

	/** Starts a hold; `over` is called when it has lasted. */
	start(over: () => void): void {
		this.#sinceMs = this.#clock.now();
		this.#timer = this.#clock.setTimeout(over, this.#holdMs);
		this.#timer.unref?.();
	}

	/** Ends it; gives how long it lasted, in milliseconds. */
	end(): number {
		this.#clock.clearTimeout(this.#timer);
		const heldMs = this.#clock.now() - (this.#sinceMs ?? this.#clock.now());
		this.#sinceMs = undefined;
		return heldMs;
	}

	/** Null while nothing is held. */
	status(): HoldStatus | null {
		if (this.#sinceMs === undefined) return null;
		const forMs = this.#clock.now() - this.#sinceMs;
		return { forMs, endsInMs: Math.max(0, this.#holdMs - forMs) };
	}
}
