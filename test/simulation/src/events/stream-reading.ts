import type { LogEvent } from '@spock/events';

import type { WorldContext } from '../world-context.ts';
import { idOf, type Marked, markOf, STREAM } from './event-book.ts';

/** What one app has read of the stream, from its first event on and without a group. */
export class StreamReading {
	readonly #world: WorldContext;
	readonly #who: string;
	readonly #seen = new Set<string>();
	#last = 0;

	constructor(world: WorldContext, who: string) {
		this.#world = world;
		this.#who = who;
	}

	/** An event arrives: again, or behind all others. */
	take(mark: Marked, position: number): void {
		const id = `${idOf(mark)}@${position}`;
		if (this.#seen.has(id)) return;
		this.#seen.add(id);
		if (position < this.#last) {
			this.#world.fail('events keep their order', `${this.#who} reads ${id} after what is at ${this.#last}`);
		}
		this.#last = position;
	}

	/** An event of the stream that is kept, and was not read; undefined for none. `first`: of those that are kept. */
	missing(events: readonly LogEvent[], first: number): string | undefined {
		for (const event of events) {
			if (event.stream !== STREAM || event.position < first) continue;
			const id = `${idOf(markOf(event))}@${event.position}`;
			if (!this.#seen.has(id)) return id;
		}
		return undefined;
	}
}
