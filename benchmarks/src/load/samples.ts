/** Latencies of one round, kept whole: percentiles are exact, and recording one costs a store. */
export class Samples {
	#values = new Float64Array(65_536);
	#count = 0;

	get count(): number {
		return this.#count;
	}

	clear(): void {
		this.#count = 0;
	}

	add(value: number): void {
		if (this.#count === this.#values.length) {
			const grown = new Float64Array(this.#count * 2);
			grown.set(this.#values);
			this.#values = grown;
		}
		this.#values[this.#count++] = value;
	}

	/** Sorts what is there; `percentiles` and `max` then read it. */
	sort(): void {
		this.#values.subarray(0, this.#count).sort();
	}

	/** The value that a share of all samples does not exceed (nearest rank); 0 without samples. */
	percentile(share: number): number {
		if (this.#count === 0) return 0;
		const rank = Math.max(1, Math.ceil(share * this.#count));
		return this.#values[rank - 1] as number;
	}
}

/** The middle of some figures; the mean of the two middle ones for an even number. NaN for none. */
export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;
	if (sorted.length === 0) return Number.NaN;
	if (sorted.length % 2 === 1) return sorted[middle] as number;
	return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
