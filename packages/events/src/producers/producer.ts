import type { RefusedEvent } from '@spock/protocol';

import type { LineOrigin } from '../foundation/event-sessions.ts';

/** Refusals that are kept although they were told: the line may have died under them. */
export const REFUSED_TOLD_MAX = 256;
/** Refusals of one producer that could not be told yet. A producer within its window never has as many. */
export const REFUSED_UNTOLD_MAX = 4096;
/** Refusals by stores that are kept of one producer although they were told. */
export const STORE_REFUSALS_MAX = 64;
/** Streams of one producer whose last `seq` is remembered. */
export const PRODUCER_STREAMS_MAX = 256;

/** The last events of a producer in one stream. */
export interface StreamPlace {
	readonly stream: string;
	appended: number;
	/** The position of that event in the log. */
	position: number;
	stored: number;
	/** True while the producer's list of changes has it. */
	isChanged: boolean;
}

/** One epoch of a producer: how far its events have come. */
export class Producer {
	readonly name: string;
	readonly epoch: number;
	/** Its `seq` need not count by one. */
	readonly hasGaps: boolean;
	/** The last `seq` that is in the log. */
	appended: number;
	/** The last `seq` that is on disk. */
	persisted: number;
	/** Of the texts beyond `persisted`. */
	bytes = 0;
	/** When anything was heard of it, by the monotonic clock. */
	seenMs: number;
	/** A later epoch was opened: nothing of this one is taken any more. */
	isOver = false;
	/** The newest connection that has opened it since this process began. */
	opener: LineOrigin | undefined;
	/** True while a commit's list of producers has it. */
	isTouched = false;
	readonly places: Map<string, StreamPlace> = new Map();
	/** Places that have changed since they were told. */
	changed: StreamPlace[] = [];
	/** By `seq`, ascending. */
	readonly refused: RefusedEvent[] = [];
	/** By stores, the newest last. */
	readonly refusedByStore: RefusedEvent[] = [];
	/** So many of them were not told. */
	#untoldByStore = 0;
	/** The last `seq` up to which refusals were told. */
	refusedTold = 0;
	/** The id of its last event with one, of this epoch or an earlier one. */
	lastId: string | undefined;
	/** An event of this epoch was refused: from it on `lastId` stays, so that the next epoch may begin with it again. */
	hasRefused = false;
	/** With gaps: the refused event that has ended an uplink, until it is told. */
	stoppedAt: RefusedEvent | undefined;
	#lastPlace: StreamPlace | undefined;

	constructor(name: string, epoch: number, persisted: number, seenMs: number, hasGaps = false) {
		this.name = name;
		this.epoch = epoch;
		this.hasGaps = hasGaps;
		this.appended = persisted;
		this.persisted = persisted;
		this.seenMs = seenMs;
	}

	/** Whether its client has opened it on a newer connection than this one: what comes by this one was sent before that, and is late. */
	isOpenedAfter(origin: LineOrigin | undefined): boolean {
		const { opener } = this;
		if (opener === undefined || origin === undefined || opener.client !== origin.client) return false;
		return opener.connection > origin.connection;
	}

	/** Its place in a stream. Most events go to the stream of the one before, which costs a comparison. */
	placeIn(stream: string): StreamPlace {
		const last = this.#lastPlace;
		if (last !== undefined && last.stream === stream) return last;
		let place = this.places.get(stream);
		if (place === undefined) {
			if (this.places.size >= PRODUCER_STREAMS_MAX) this.#forgetPlace();
			place = { stream, appended: 0, position: 0, stored: 0, isChanged: false };
			this.places.set(stream, place);
		}
		this.#lastPlace = place;
		return place;
	}

	/** A place has come as far as this `seq`. */
	storedTo(place: StreamPlace, seq: number): void {
		place.stored = seq;
		if (place.isChanged) return;
		place.isChanged = true;
		this.changed.push(place);
	}

	/** An event with an id is in the log. */
	tookId(id: string): void {
		if (!this.hasRefused) this.lastId = id;
	}

	/** For each stream, the last `seq` that its store holds. */
	stored(): Record<string, number> {
		const places = [...this.places.values()].filter(({ stored }) => stored > 0);
		return storedIn(places);
	}

	/** What has changed since the last call; undefined if nothing. */
	takeChanged(): Record<string, number> | undefined {
		if (this.changed.length === 0) return undefined;
		const { changed } = this;
		this.changed = [];
		for (const place of changed) place.isChanged = false;
		return storedIn(changed);
	}

	get canRefuse(): boolean {
		let untold = this.refused.length;
		for (const { seq } of this.refused) {
			if (seq > this.refusedTold) break;
			untold--;
		}
		return untold < REFUSED_UNTOLD_MAX;
	}

	/** Refusals that are on disk and not told yet, which are told by this; undefined if there are none. */
	takeRefused(): readonly RefusedEvent[] | undefined {
		const { refused, persisted, stoppedAt } = this;
		if (stoppedAt !== undefined) {
			this.stoppedAt = undefined;
			return [stoppedAt];
		}
		if (refused.length === 0) return undefined;
		const untold = refused.filter(({ seq }) => seq > this.refusedTold && seq <= persisted);
		this.refusedTold = persisted;
		const told = refused.length - refused.filter(({ seq }) => seq > persisted).length;
		if (told > REFUSED_TOLD_MAX) refused.splice(0, told - REFUSED_TOLD_MAX);
		return untold.length === 0 ? undefined : untold;
	}

	/** The store of its stream never takes an event that is on disk. Of more than are kept the oldest is forgotten. */
	storeRefused(refusal: RefusedEvent): void {
		const { refusedByStore } = this;
		refusedByStore.push(refusal);
		if (refusedByStore.length > STORE_REFUSALS_MAX) refusedByStore.shift();
		this.#untoldByStore = Math.min(this.#untoldByStore + 1, STORE_REFUSALS_MAX);
	}

	/** Refusals by stores that are not told yet, which are told by this; undefined if there are none. */
	takeRefusedByStore(): readonly RefusedEvent[] | undefined {
		if (this.#untoldByStore === 0) return undefined;
		const untold = this.refusedByStore.slice(-this.#untoldByStore);
		this.#untoldByStore = 0;
		return untold;
	}

	/** Refusals on disk above what the producer was told, for one that comes back. */
	refusedAbove(told: number): readonly RefusedEvent[] {
		return this.refused.filter(({ seq }) => seq > told && seq <= this.persisted);
	}

	/** The producer has heard of everything up to here. */
	heard(told: number): void {
		const known = this.refused.findIndex(({ seq }) => seq > told);
		this.refused.splice(0, known === -1 ? this.refused.length : known);
	}

	/** The place that has not moved for longest, of those that are stored: it was told, or will be on the next opening no more. */
	#forgetPlace(): void {
		let oldest: StreamPlace | undefined;
		for (const place of this.places.values()) {
			if (place.isChanged || place.stored !== place.appended) continue;
			if (oldest === undefined || place.stored < oldest.stored) oldest = place;
		}
		if (oldest !== undefined) this.places.delete(oldest.stream);
	}
}

/** Own members, as a stream may be called `__proto__`: to set that would be to set no member at all. */
function storedIn(places: readonly StreamPlace[]): Record<string, number> {
	return Object.fromEntries(places.map(({ stream, stored }) => [stream, stored]));
}
