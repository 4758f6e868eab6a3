import type { Clock } from '@spock/protocol/internal';

import type { Answer } from '../connection/answer.ts';

/** Replies that cost more than LONG_CHARACTERS are cached for REUSED_MS. */
const LONG_CHARACTERS = 16_384;
const REUSED_MS = 250;
/** Most cached replies, and most characters of all but the newest. */
const REPLIES_MAX = 64;
const CHARACTERS_MAX = 16_777_216;

interface CachedReply<T> {
	readonly text: Answer<T>;
	readonly atMs: number;
}

/**
 * Caches the long replies of a function that grow with what clients decide, such as their watches. If each request made a new one,
 * one client could use up the time of all others.
 */
export class ReplyCache<T> {
	readonly #clock: Pick<Clock, 'now'>;
	/** Keyed by what they depend on, oldest first. */
	readonly #replies = new Map<string, CachedReply<T>>();
	#characters = 0;

	constructor(clock: Pick<Clock, 'now'>) {
		this.#clock = clock;
	}

	/** The cached reply, if it is recent enough. */
	find(key: string): Answer<T> | undefined {
		const reply = this.#replies.get(key);
		return reply !== undefined && this.#isRecent(reply) ? reply.text : undefined;
	}

	/** Caches a reply if it is long enough, and returns it. `cost` is the cost of making it, in characters. Default: its length. */
	put(key: string, text: Answer<T>, cost: number = text.length): Answer<T> {
		this.#delete(key);
		for (const [old, reply] of this.#replies) {
			const isFull = this.#replies.size >= REPLIES_MAX || this.#characters + text.length > CHARACTERS_MAX;
			if (!isFull && this.#isRecent(reply)) break;
			this.#delete(old);
		}
		if (cost > LONG_CHARACTERS) {
			this.#replies.set(key, { text, atMs: this.#clock.now() });
			this.#characters += text.length;
		}
		return text;
	}

	#isRecent({ atMs }: CachedReply<T>): boolean {
		return this.#clock.now() - atMs < REUSED_MS;
	}

	#delete(key: string): void {
		this.#characters -= this.#replies.get(key)?.text.length ?? 0;
		this.#replies.delete(key);
	}
}
