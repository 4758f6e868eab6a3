/** Uniform numbers from a seed: the same seed gives the same numbers on every machine and version of Node. */
export class SeededRandom {
	#a: number;
	#b: number;
	#c: number;
	#counter: number;

	constructor(seed: number) {
		this.#a = seed >>> 0;
		this.#b = Math.floor(seed / 2 ** 32) >>> 0;
		this.#c = 0x9e3779b9;
		this.#counter = 1;
		// Neighbouring seeds must not give similar worlds.
		for (let round = 0; round < 16; round++) this.#next();
	}

	/** Uniform in [0, 1). */
	readonly unit = (): number => this.#next() / 2 ** 32;

	/** A whole number, both ends included. */
	between(min: number, max: number): number {
		return min + Math.floor(this.unit() * (max - min + 1));
	}

	/** True with this probability. */
	chance(probability: number): boolean {
		return this.unit() < probability;
	}

	/** One of these. */
	pick<T>(choices: readonly T[]): T {
		return choices[Math.floor(this.unit() * choices.length)] as T;
	}

	/** Numbers of their own for one part of the world: what it draws does not move what others draw. */
	fork(): SeededRandom {
		return new SeededRandom(this.#next() * 2 ** 20 + (this.#next() & 0xfffff));
	}

	// sfc32, by Chris Doty-Humphrey: 128 bits of state, passes PractRand. https://pracrand.sourceforge.net/
	#next(): number {
		const sum = (this.#a + this.#b + this.#counter) | 0;
		this.#counter = (this.#counter + 1) | 0;
		this.#a = this.#b ^ (this.#b >>> 9);
		this.#b = (this.#c + (this.#c << 3)) | 0;
		this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
		return sum >>> 0;
	}
}
