import type { ConsumeOrder } from '@spock/protocol';

import type { GroupEvent } from './group-event.ts';

/**
 * Which events must wait for an earlier one. A lane is a key, or the whole stream; its first event may go, those behind it wait until that is
 * done. With the order `none`, and for an event without a key under the order `key`, there is no lane: it waits for nothing.
 */
export class KeyLanes {
	readonly #order: ConsumeOrder;
	/** Lanes in use, with what waits in each; null where nothing does, so that a key that occurs once costs no array. */
	readonly #lanes = new Map<string, GroupEvent[] | null>();

	constructor(order: ConsumeOrder) {
		this.#order = order;
	}

	/** True if the event may go. Otherwise it waits, and `leave` gives it. In the order of positions. */
	enter(item: GroupEvent): boolean {
		const lane = this.#laneOf(item);
		if (lane === undefined) return true;
		const waiting = this.#lanes.get(lane);
		if (waiting === undefined) this.#lanes.set(lane, null);
		else if (waiting === null) this.#lanes.set(lane, [item]);
		else waiting.push(item);
		return waiting === undefined;
	}

	/** The event is done: gives the next one of its lane, which may go. */
	leave(item: GroupEvent): GroupEvent | undefined {
		const lane = this.#laneOf(item);
		if (lane === undefined) return;
		const next = this.#lanes.get(lane)?.shift();
		if (next === undefined) this.#lanes.delete(lane);
		return next;
	}

	clear(): void {
		this.#lanes.clear();
	}

	#laneOf({ event }: GroupEvent): string | undefined {
		if (this.#order === 'none') return;
		return this.#order === 'key' ? event.key : event.stream;
	}
}
