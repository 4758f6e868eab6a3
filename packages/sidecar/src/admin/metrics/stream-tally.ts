import type { Series } from './tallied.ts';

/** Streams that a scrape names; all others are `other`. */
const NAMES_MAX = 32;
const OTHER = 'other';

/** Counts by the name of a stream, which apps choose: the first ones have a series each, the rest share one. */
export class StreamTally {
	static readonly namesMax: number = NAMES_MAX;
	/** Shared by several tallies. */
	readonly #names: Set<string>;
	readonly #counts = new Map<string, number>();

	/** `names`: those that have a series; grows up to the limit. */
	constructor(names: Set<string>) {
		this.#names = names;
		names.add(OTHER);
	}

	/** Gives a stream its series. */
	know(stream: string): void {
		if (this.#names.size <= NAMES_MAX) this.#names.add(stream);
	}

	add(stream: string, count: number): void {
		this.know(stream);
		const name = this.#names.has(stream) ? stream : OTHER;
		this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
	}

	*series(): Generator<Series> {
		for (const stream of this.#names) yield [{ stream }, this.#counts.get(stream) ?? 0];
	}
}
