import type { Clock } from '@spock/protocol/internal';

import type { Answer } from '../connection/answer.ts';

/** An answer that costs more than as many characters is told again as it was for so long. */
const LONG_CHARACTERS = 16_384;
const REUSED_MS = 250;
/** Most answers that are kept, and most characters of all but the newest. */
const ANSWERS_MAX = 64;
const CHARACTERS_MAX = 16_777_216;

interface Told<T> {
	readonly text: Answer<T>;
	readonly atMs: number;
}

/**
 * Long answers of a function that grow with what clients decide, such as what is watched: made for each of their requests, they
 * would let one client take all the time of the others.
 */
export class ToldAgain<T> {
	readonly #clock: Pick<Clock, 'now'>;
	/** By what they depend on, the oldest first. */
	readonly #told = new Map<string, Told<T>>();
	#characters = 0;

	constructor(clock: Pick<Clock, 'now'>) {
		this.#clock = clock;
	}

	/** What was told of this a moment ago, if it was long. */
	find(key: string): Answer<T> | undefined {
		const told = this.#told.get(key);
		return told !== undefined && this.#isRecent(told) ? told.text : undefined;
	}

	/** Remembers an answer if it is worth it; gives it. `cost` is what making it costs, in characters. Default: its length. */
	tell(key: string, text: Answer<T>, cost: number = text.length): Answer<T> {
		this.#forget(key);
		for (const [old, told] of this.#told) {
			const isFull = this.#told.size >= ANSWERS_MAX || this.#characters + text.length > CHARACTERS_MAX;
			if (!isFull && this.#isRecent(told)) break;
			this.#forget(old);
		}
		if (cost > LONG_CHARACTERS) {
			this.#told.set(key, { text, atMs: this.#clock.now() });
			this.#characters += text.length;
		}
		return text;
	}

	#isRecent({ atMs }: Told<T>): boolean {
		return this.#clock.now() - atMs < REUSED_MS;
	}

	#forget(key: string): void {
		this.#characters -= this.#told.get(key)?.text.length ?? 0;
		this.#told.delete(key);
	}
}
