/** Numbers that follow from a seed alone: the same seed gives the same case on every machine. */
export class SeededRandom {
	#state: number;
	#high: number;

	/** `seed` is a whole number from 0 to 2^53 - 1. */
	constructor(seed: number) {
		this.#state = seed >>> 0;
		this.#high = Math.floor(seed / 2 ** 32) >>> 0;
	}

	/** 32 uniform bits: splitmix32, its stream chosen by the high half of the seed. */
	bits(): number {
		this.#state = (this.#state + 0x9e37_79b9) >>> 0;
		let mixed = this.#state ^ Math.imul(this.#high, 0x85eb_ca6b);
		mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0_aaad);
		mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
		return (mixed ^ (mixed >>> 15)) >>> 0;
	}

	/** Uniform in [0, 1). */
	readonly unit = (): number => this.bits() / 2 ** 32;

	/** A whole number from 0 to `count` - 1. */
	below(count: number): number {
		return Math.floor((this.bits() / 2 ** 32) * count);
	}

	/** A whole number from `min` to `max`. */
	between(min: number, max: number): number {
		return min + this.below(max - min + 1);
	}

	/** True once in `times`. */
	oneIn(times: number): boolean {
		return this.below(times) === 0;
	}

	pick<T>(list: readonly T[]): T {
		return list[this.below(list.length)] as T;
	}
}
