import type { HoldStatus } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** One empty answer that is held back: since when, and until when; and what may explain it meanwhile. */
export class EmptyHold {
	readonly #clock: Clock;
	readonly #holdMs: number;
	#sinceMs: number | undefined;
	/** When it had lasted. */
	#dueAtMs: number | undefined;
	#timer: TimerHandle | undefined;
	#endAsking: (() => void) | undefined;

	constructor(clock: Clock, holdMs: number) {
		this.#clock = clock;
		this.#holdMs = holdMs;
	}

	/** Starts a hold; `due` is called when it has lasted. `ask` looks for what explains it, and gives what ends that. */
	start(due: () => void, ask: () => (() => void) | undefined): void {
		this.#sinceMs = this.#clock.now();
		this.#arm(this.#holdMs, () => {
			this.#dueAtMs = this.#clock.now();
			due();
		});
		const endAsking = ask();
		// It may have been explained, and ended, before that returned.
		if (this.#sinceMs === undefined) endAsking?.();
		else this.#endAsking = endAsking;
	}

	/** True when it has lasted twice as long as it should. */
	get isLong(): boolean {
		return this.#longInMs <= 0;
	}

	/** Calls this once when `isLong` becomes true, unless it has ended before. */
	onLong(tell: () => void): void {
		if (this.#timer === undefined) this.#arm(this.#longInMs, tell);
	}

	/** Ends it; gives how long it lasted, in milliseconds. */
	end(): number {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#dueAtMs = undefined;
		this.#endAsking?.();
		this.#endAsking = undefined;
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

	get #longInMs(): number {
		const nowMs = this.#clock.now();
		return (this.#dueAtMs ?? nowMs) + this.#holdMs - nowMs;
	}

	#arm(delayMs: number, act: () => void): void {
		this.#timer = this.#clock.setTimeout(() => {
			this.#timer = undefined;
			act();
		}, delayMs);
		this.#timer.unref?.();
	}
}
