import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { GroupEvent } from './group-event.ts';
import { RankedHeap } from './ranked-heap.ts';

/** Longest delay of a Node timer; what is due later is looked at again then. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/**
 * Tells which events are due, with one timer for all. The timer is armed anew only for an event that is due before it: in a steady flow of acks it
 * fires once for each ack wait, finds nothing, and is armed for the oldest event that is out.
 */
export class DueTimer {
	readonly #clock: Clock;
	readonly #due: (item: GroupEvent) => void;
	readonly #heap = new RankedHeap<GroupEvent>();
	#timer: TimerHandle | undefined;
	#armedMs = Number.POSITIVE_INFINITY;

	constructor(clock: Clock, due: (item: GroupEvent) => void) {
		this.#clock = clock;
		this.#due = due;
	}

	items(): readonly GroupEvent[] {
		return this.#heap.items();
	}

	add(item: GroupEvent, delayMs: number): void {
		item.rank = this.#clock.now() + delayMs;
		this.#heap.add(item);
		if (item.rank < this.#armedMs) this.#arm(item.rank);
	}

	/** Does nothing for an event that is not there. */
	remove(item: GroupEvent): void {
		this.#heap.remove(item);
	}

	/** Forgets all, and ends the timer. */
	clear(): void {
		this.#heap.clear();
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#armedMs = Number.POSITIVE_INFINITY;
	}

	#arm(dueMs: number): void {
		this.#clock.clearTimeout(this.#timer);
		this.#armedMs = dueMs;
		const delayMs = Math.min(DELAY_MS_MAX, Math.max(0, dueMs - this.#clock.now()));
		this.#timer = this.#clock.setTimeout(() => this.#fire(), delayMs);
	}

	#fire(): void {
		this.#timer = undefined;
		this.#armedMs = Number.POSITIVE_INFINITY;
		const nowMs = this.#clock.now();
		for (let item = this.#heap.first; item !== undefined && item.rank <= nowMs; item = this.#heap.first) {
			this.#heap.remove(item);
			this.#due(item);
		}
		const next = this.#heap.first;
		if (next !== undefined && next.rank < this.#armedMs) this.#arm(next.rank);
	}
}
