/** Rounds that may follow each other closely after a quiet time: a minute of them, and a large deployment is over by then. */
const ROUNDS_MAX = 60;
/** One more each time that this has passed: a registry that is edited all day long costs four rounds a minute, as a slow pace does. */
const ROUND_EVERY_MS = 15_000;

/**
 * Whether it is worth while to follow edits closely of which only is known that something somewhere was edited: as long as the
 * last look has found something, and within a budget of rounds.
 */
export class LookBudget {
	#rounds = ROUNDS_MAX;
	#refilledAtMs: number;
	#hasFound = false;

	constructor(nowMs: number) {
		this.#refilledAtMs = nowMs;
	}

	/** A look has found a change. */
	found(): void {
		this.#hasFound = true;
	}

	/** Takes a round for an edit. */
	take(nowMs: number): boolean {
		const refill = Math.floor((nowMs - this.#refilledAtMs) / ROUND_EVERY_MS);
		this.#rounds = Math.min(ROUNDS_MAX, this.#rounds + refill);
		this.#refilledAtMs += refill * ROUND_EVERY_MS;
		const isWorthIt = this.#hasFound && this.#rounds > 0;
		this.#hasFound = false;
		if (isWorthIt) this.#rounds--;
		return isWorthIt;
	}
}
