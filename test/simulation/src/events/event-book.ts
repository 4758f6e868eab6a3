import type { LogEvent } from '@spock/events';

import type { WorldContext } from '../world-context.ts';

/** What an event carries: who emitted it, as the how-many-eth, and its key. */
export interface Marked {
	/** Process and way; events of one way have an order. */
	readonly from: string;
	readonly n: number;
	readonly key: string;
}

/** The stream that the group reads, and that of its dead letters. */
export const STREAM = 'orders';
const DEAD = `${STREAM}.dead`;
/** The group. */
export const GROUP = 'billing';

/** An event with an id may come again after so long, in milliseconds: two minutes, less what is cut off of the times of records. */
const ID_WINDOW_MS = 119_999;

/** When a group first began an event, last began it, and first finished it. */
interface Handling {
	readonly begun: number;
	begunLast: number;
	done: number | undefined;
}

/** What apps were told of events, and what their handlers saw. */
export class EventBook {
	readonly #world: WorldContext;
	readonly #persisted = new Set<string>();
	/** They were never accepted. */
	readonly #never = new Set<string>();
	readonly #handlings = new Map<string, Handling>();
	/** What the group has finished for good. */
	readonly #settled = new Set<string>();
	#time = 0;
	/** When the group was last sent back; what it has finished may come again from then on. */
	#rewoundAt: number | undefined;
	#isSentBack = false;
	/** The group may have been sent beyond what is below. */
	#skippedBelow = 0;
	/** The group may be deleted, and none holds its events. */
	#mayBeDeleted = false;
	/** The time of day was set: times of records do not say any more how long ago an id was seen. */
	#wasTimeSet = false;

	constructor(world: WorldContext) {
		this.#world = world;
	}

	persisted(mark: Marked): void {
		this.#persisted.add(idOf(mark));
	}

	never(mark: Marked): void {
		this.#never.add(idOf(mark));
	}

	begun(mark: Marked): void {
		const id = idOf(mark);
		if (this.#settled.has(id))
			this.#world.fail('every event is handled', `${id} is handled again, although it was done`);
		const at = ++this.#time;
		const handling = this.#handlings.get(id);
		if (handling === undefined) this.#handlings.set(id, { begun: at, begunLast: at, done: undefined });
		else handling.begunLast = at;
	}

	/** The group is to be sent to this position, or to its first event. Gives what is called when it has been. */
	rewinds(position = 0): () => void {
		const at = ++this.#time;
		this.#isSentBack = true;
		this.#skippedBelow = Math.max(this.#skippedBelow, position);
		this.#settled.clear();
		return () => {
			this.#rewoundAt = Math.max(at, this.#rewoundAt ?? 0);
		};
	}

	/** The group is to be deleted. Gives what is called when it has been. */
	deletes(): () => void {
		this.#mayBeDeleted = true;
		return this.rewinds();
	}

	/** The log has deleted what is below. */
	trimmed(below: number): void {
		if (this.#mayBeDeleted) this.#skippedBelow = Math.max(this.#skippedBelow, below);
	}

	timeWasSet(): void {
		this.#wasTimeSet = true;
	}

	handled(mark: Marked): void {
		const handling = this.#handlings.get(idOf(mark));
		if (handling !== undefined) handling.done ??= ++this.#time;
		this.#world.counts.handled++;
	}

	/** What was told so far. */
	get told(): ReadonlySet<string> {
		return new Set(this.#persisted);
	}

	/** Nothing that was told is missing. */
	checkKept(events: readonly LogEvent[], told: ReadonlySet<string>, when: string): void {
		const found = new Set(events.map((event) => idOf(markOf(event))));
		for (const id of told) {
			if (found.has(id)) continue;
			this.#world.fail('a persisted event is kept', `${id} was told to be persisted, and is not in the log ${when}`);
			return;
		}
	}

	/** Each event once; those of one way in order and without a gap. */
	checkOrder(events: readonly LogEvent[]): void {
		const last = new Map<string, number>();
		const seen = new Map<string, number>();
		const epochs = new Map<string, number>();
		for (const event of events) {
			if (event.stream === DEAD) continue;
			const mark = markOf(event);
			const id = idOf(mark);
			const { producer, epoch } = event;
			if (epoch < (epochs.get(producer) ?? 0)) {
				const text = `${id} of epoch ${epoch} of ${producer} is in the log behind a later epoch`;
				this.#world.fail('events keep their order', text);
			}
			epochs.set(producer, epoch);
			const before = seen.get(id);
			seen.set(id, event.time);
			const isForgotten = !isOrdered(mark) && (this.#wasTimeSet || event.time - (before ?? 0) > ID_WINDOW_MS);
			if (before !== undefined && !isForgotten)
				this.#world.fail('events keep their order', `${id} is twice in the log, again at ${event.position}`);
			if (this.#never.has(id)) this.#world.fail('events keep their order', `${id} was not accepted, and is in the log`);
			if (!isOrdered(mark)) continue;
			let expected = (last.get(mark.from) ?? 0) + 1;
			while (this.#never.has(idOf({ ...mark, n: expected }))) expected++;
			last.set(mark.from, mark.n);
			if (mark.n === expected) continue;
			this.#world.fail('events keep their order', `${id} is in the log where ${expected} should be`);
		}
	}

	/** In a calm: the group has nothing left, and had the events of each key in order. Those are done for good. `first`: of those that are kept. */
	checkHandled(events: readonly LogEvent[], first: number): void {
		// A member of it has begun it anew by now.
		this.#mayBeDeleted = false;
		const dead = new Set(events.filter(({ stream }) => stream === DEAD).map((event) => idOf(markOf(event))));
		/** When the last event of a key was first done. */
		const doneBefore = new Map<string, { readonly id: string; readonly at: number }>();
		const seen = new Set<string>();
		for (const event of events) {
			if (event.stream !== STREAM) continue;
			const mark = markOf(event);
			const id = idOf(mark);
			// One that came again when its id was forgotten is handled as the first one.
			if (seen.has(id)) continue;
			seen.add(id);
			if (event.position < this.#skippedBelow) continue;
			const handling = this.#handlings.get(id);
			const { done } = handling ?? {};
			if (done === undefined && !dead.has(id)) {
				const what = handling === undefined ? 'was never delivered' : 'was delivered and never handled';
				this.#world.fail('every event is handled', `${id} at ${event.position} ${what}`);
				return;
			}
			if (!this.#isSentBack) this.#settled.add(id);
			if (handling === undefined) continue;
			const { begun, begunLast } = handling;
			const isAgain = this.#rewoundAt === undefined || begun > this.#rewoundAt || begunLast > this.#rewoundAt;
			if (!isAgain && event.position >= first && !dead.has(id)) {
				this.#world.fail('every event is handled', `${id} has not come again, although the group was sent back`);
			}
			const before = doneBefore.get(mark.key);
			if (before !== undefined && before.at > handling.begun) {
				this.#world.fail('events keep their order', `${id} of key ${mark.key} was begun before ${before.id} was done`);
			}
			// One that was given up frees its key, also while a handler is still at it.
			if (done !== undefined && !dead.has(id)) doneBefore.set(mark.key, { id, at: Math.max(done, before?.at ?? 0) });
		}
	}

	/** True when nothing of the log waits for the group. */
	isDone(events: readonly LogEvent[]): boolean {
		const dead = new Set(events.filter(({ stream }) => stream === DEAD).map((event) => idOf(markOf(event))));
		return events.every((event) => {
			if (event.stream !== STREAM || event.position < this.#skippedBelow) return true;
			const id = idOf(markOf(event));
			return dead.has(id) || this.#handlings.get(id)?.done !== undefined;
		});
	}
}

function isOrdered({ from }: Marked): boolean {
	return !from.endsWith('again') && !from.endsWith('request');
}

/** Names an event. */
export function idOf({ from, n }: Marked): string {
	return `${from}:${n}`;
}

/** What an event carries. */
export function markOf({ text }: LogEvent): Marked {
	return (JSON.parse(text) as { payload: Marked }).payload;
}
