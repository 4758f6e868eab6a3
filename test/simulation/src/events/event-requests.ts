import type { Diplomat } from '@spock/client';
import type { ErrorCode } from '@spock/protocol';

import type { CallBook } from '../call-book.ts';
import type { SeededRandom } from '../seeded-random.ts';
import type { WorldContext } from '../world-context.ts';
import { type EventBook, GROUP, type Marked, STREAM } from './event-book.ts';

/** Share of the requests in a storm that send the group elsewhere, and that delete it. */
const REWIND_CHANCE = 0.1;
const DELETE_CHANCE = 0.1;
/** Positions that are remembered to be gone back to. */
const POSITIONS_MAX = 32;

/** What an app needs for single requests. */
export interface EventRequestsOptions {
	readonly world: WorldContext;
	/** Numbers of its own. */
	readonly random: SeededRandom;
	readonly book: EventBook;
	readonly calls: CallBook;
	readonly diplomat: Diplomat;
	readonly timeoutMs: number;
	/** Makes the next event. */
	readonly mark: () => Marked;
	/** Whether such an error may come. */
	readonly isFine: (code: ErrorCode) => boolean;
	/** False once it ends. */
	readonly mayGoOn: () => boolean;
}

/** Single requests about events, as a program without the client makes them. */
export class EventRequests {
	readonly random: SeededRandom;
	readonly #options: EventRequestsOptions;
	/** Where events of this app are. */
	readonly #positions: number[] = [];

	constructor(options: EventRequestsOptions) {
		this.#options = options;
		this.random = options.random;
	}

	/** Makes one. */
	step(): void {
		const { random } = this;
		const { isCalm } = this.#options.world;
		if (!isCalm && random.chance(REWIND_CHANCE)) this.#rewind();
		else if (!isCalm && random.chance(DELETE_CHANCE)) this.#delete();
		else this.#publish(this.#options.mark(), 3);
	}

	/** With an id, and again for as long as it is not known to be persisted. */
	#publish(mark: Marked, tries: number): void {
		const { book, calls, diplomat, isFine, mayGoOn } = this.#options;
		const timeoutMs = this.random.pick([5, 50, this.#options.timeoutMs]);
		const id = `${mark.from}${mark.n}`;
		calls.call<{ readonly position: number }>(
			{
				what: `request to publish ${mark.n}`,
				timeoutMs,
				answered: ({ position }) => {
					book.persisted(mark);
					this.#positions.push(position);
					if (this.#positions.length > POSITIONS_MAX) this.#positions.shift();
				},
				mayFail: (code) => {
					if (isFine(code) && mayGoOn() && tries > 1) this.#publish(mark, tries - 1);
					return isFine(code);
				},
			},
			() => diplomat.request('publish', { stream: STREAM, key: mark.key, id, payload: mark }, { timeoutMs }),
		);
	}

	/** The group goes to the first event that is kept, or to one of this app's in the midst. */
	#rewind(): void {
		const { book, calls, diplomat, timeoutMs, isFine } = this.#options;
		const position =
			this.#positions.length > 0 && this.random.chance(0.5) ? this.random.pick(this.#positions) : undefined;
		const to = position === undefined ? ('first' as const) : { position };
		calls.call(
			{
				what: 'rewind',
				timeoutMs,
				answered: book.rewinds(position),
				// BAD_REQUEST: there is no group yet.
				mayFail: (code) => isFine(code) || code === 'BAD_REQUEST',
			},
			() => diplomat.request('rewindGroup', { stream: STREAM, group: GROUP, to }, { timeoutMs }),
		);
	}

	/** The group is forgotten if it has no consumers now; the next one begins it anew, with the first event. */
	#delete(): void {
		const { book, calls, diplomat, timeoutMs, isFine } = this.#options;
		calls.call(
			{
				what: 'delete the group',
				timeoutMs,
				answered: book.deletes(),
				// BAD_REQUEST: there is no group yet, or it has consumers.
				mayFail: (code) => isFine(code) || code === 'BAD_REQUEST',
			},
			() => diplomat.request('deleteGroup', { stream: STREAM, group: GROUP }, { timeoutMs }),
		);
	}
}
