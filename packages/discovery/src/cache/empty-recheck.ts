import type { Clock, TimerHandle } from '@spock/protocol/internal';

/** So often is the registry asked again whether nothing is left, each time after twice as long: a lie of minutes is found out. */
export const RECHECKS_MAX = 4;

/** Asks again, and ever later, while a question is answered with nothing. */
export class EmptyRecheck {
	readonly #clock: Clock;
	readonly #firstMs: number;
	readonly #ask: () => void;
	#count = 0;
	#timer: TimerHandle | undefined;

	/** `firstMs`: until the first time; 0 for never. */
	constructor(clock: Clock, firstMs: number, ask: () => void) {
		this.#clock = clock;
		this.#firstMs = firstMs;
		this.#ask = ask;
	}

	/** The question is answered, with nothing or with something. */
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
			// Where the answer is not there yet, or was not asked for.
			if (this.#timer === undefined) this.#arm();
		}, delayMs);
		this.#timer.unref?.();
	}
}
