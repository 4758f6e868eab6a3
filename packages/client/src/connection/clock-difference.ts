import type { Clock } from '@spock/protocol/internal';

/** Of so many samples the one with the smallest round trip counts: clocks drift, and are set. */
const SAMPLES_MAX = 8;
/** Both sides round to whole milliseconds. */
const ROUNDING_MS = 2;

interface Sample {
	readonly aheadMs: number;
	readonly roundTripMs: number;
}

/**
 * How far the wall clock of another machine is ahead of this one's, measured by round trips: the answer was sent while the question was
 * on its way, so that half of the smallest round trip bounds the error. What is no more than the error counts as no difference.
 */
export class ClockDifference {
	readonly #clock: Clock;
	readonly #samples: Sample[] = [];
	#aheadMs = 0;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** In milliseconds; negative where the other clock is behind, 0 while nothing is known. */
	get aheadMs(): number {
		return this.#aheadMs;
	}

	/** False while the other side has not sent its time. */
	get isKnown(): boolean {
		return this.#samples.length > 0;
	}

	/** Starts a round trip. Call what is returned with the data of the reply: without a time, the sidecar is too old to send it. */
	ask(): (data: unknown) => void {
		const sentAtMs = this.#clock.now();
		return (data) => {
			const { time } = (data ?? {}) as { readonly time?: unknown };
			if (!Number.isFinite(time)) return;
			const roundTripMs = this.#clock.now() - sentAtMs;
			this.#add({ aheadMs: (time as number) + roundTripMs / 2 - this.#clock.wallNow(), roundTripMs });
		};
	}

	#add(sample: Sample): void {
		// One of the clocks was set: what was measured before is outdated.
		if (this.#samples.some((before) => !agree(before, sample))) this.#samples.length = 0;
		this.#samples.push(sample);
		if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
		const best = this.#samples.reduce((one, other) => (other.roundTripMs <= one.roundTripMs ? other : one));
		this.#aheadMs = Math.abs(best.aheadMs) <= errorOf(best) ? 0 : Math.round(best.aheadMs);
	}
}

function errorOf({ roundTripMs }: Sample): number {
	return roundTripMs / 2 + ROUNDING_MS;
}

function agree(one: Sample, other: Sample): boolean {
	return Math.abs(one.aheadMs - other.aheadMs) <= errorOf(one) + errorOf(other);
}
