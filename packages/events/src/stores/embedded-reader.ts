import { type ConsumeFrom, SpockError } from '@spock/protocol';

import type { RecordLog } from '../foundation/event-log.ts';
import type { StoreReader } from '../foundation/event-store.ts';
import type { LogEvent } from '../foundation/log-record.ts';
import type { GroupNote, GroupPlace } from './group-places.ts';

/** What a reader needs of its store. */
export interface ReaderStore {
	readonly log: RecordLog;
	/** Most positions done above a place. */
	readonly doneAboveMax: number;
	/** A group that holds fewer goes on in any case; no more are read at once. */
	readonly groupShare: number;
	/** Whether all groups together hold as many as they may. */
	isCrowded(): boolean;
	/** It is full: to be told by `roomAgain`. */
	stopped(reader: EmbeddedReader): void;
	/** Appends a note and takes it into the places, now; gives when it is on disk. Throws what the log does. */
	note(note: GroupNote): Promise<void>;
	positionOf(from: ConsumeFrom): Promise<number>;
	closed(reader: EmbeddedReader): void;
	/** For the test that must find it: `done` resolves before its note is on disk. */
	readonly resolvesTooEarly: boolean;
}

interface Gathering {
	readonly promise: Promise<void>;
	settle(persisted: Promise<void>): void;
}

/**
 * The events of a stream, for one group or for a reader without. What is done goes into the log as notes, one at a time: what is done while
 * one is on its way to the disk goes into the next, so notes are as many as commits, however many acks there are.
 */
export class EmbeddedReader implements StoreReader {
	readonly stream: string;
	readonly group: string | undefined;
	readonly #store: ReaderStore;
	/** Of the group; undefined without one. */
	readonly #place: GroupPlace | undefined;
	/** Where the next read begins. */
	#cursor: number;
	/** Given and not done, ascending. */
	readonly #given = new Set<number>();
	/** Done since the last note. */
	#pending: number[] = [];
	/** Who waits for the next note. */
	#gathering: Gathering | undefined;
	/** Resolves when the last note is on disk. */
	#noted: Promise<void> = Promise.resolve();
	#isNoting = false;
	#isIdle = false;
	#isClosed = false;
	/** Grows with each rewind: a read that was begun before is ignored. */
	#generation = 0;
	#more: () => void = () => undefined;

	constructor(store: ReaderStore, stream: string, begin: number | GroupPlace) {
		this.stream = stream;
		this.#store = store;
		this.#place = typeof begin === 'number' ? undefined : begin;
		this.group = this.#place?.group;
		this.#cursor = typeof begin === 'number' ? begin : Math.max(begin.position, store.log.first);
	}

	get position(): number {
		for (const first of this.#given) return first;
		return this.#cursor;
	}

	/** Positions that are given or about to be noted; what is noted its place has. 0 without a group, of which no checkpoint speaks. */
	get held(): number {
		return this.#place === undefined ? 0 : this.#given.size + this.#pending.length;
	}

	get rewinds(): number {
		return this.#place?.rewinds ?? 0;
	}

	async read(limits: { readonly eventsMax: number; readonly bytesMax: number }): Promise<readonly LogEvent[]> {
		const { log, groupShare } = this.#store;
		const generation = this.#generation;
		const eventsMax = Math.min(limits.eventsMax, groupShare);
		this.#isIdle = false;
		while (!this.#isClosed) {
			if (this.#isFull(this.#store.isCrowded)) {
				this.#store.stopped(this);
				break;
			}
			const from = this.#cursor;
			const page = await log.read(from, { ...limits, stream: this.stream, eventsMax });
			if (this.#isClosed || generation !== this.#generation) return [];
			this.#cursor = page.next;
			const fresh = page.events.filter(({ position }) => this.#place?.done.has(position) !== true);
			for (const { position } of fresh) this.#given.add(position);
			if (fresh.length > 0) return fresh;
			if (page.next >= log.persisted || page.next === from) {
				this.#isIdle = true;
				break;
			}
		}
		return [];
	}

	onMore(listener: () => void): void {
		this.#more = listener;
	}

	done(positions: readonly number[]): Promise<void> {
		for (const position of positions) {
			if (this.#given.delete(position) && this.#place !== undefined) this.#pending.push(position);
		}
		if (this.#pending.length === 0 && this.#gathering === undefined) return this.#noted;
		this.#gathering ??= gather();
		const { promise } = this.#gathering;
		queueMicrotask(() => this.#noteNext());
		return this.#store.resolvesTooEarly ? Promise.resolve() : promise;
	}

	async rewind(to: ConsumeFrom): Promise<number> {
		this.#generation++;
		const position = await this.#store.positionOf(to);
		if (this.#isClosed) throw new SpockError('UNAVAILABLE', 'the reader was closed meanwhile; try again');
		this.#generation++;
		this.#given.clear();
		this.#pending = [];
		this.#cursor = position;
		if (this.#place === undefined) return position;
		const { stream, group } = this.#place;
		const persisted = this.#store.note({ stream, group, to: position });
		this.#settle(persisted);
		await persisted;
		return position;
	}

	async close(): Promise<void> {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#note();
		// Another reader of the group may follow: what is said to be done from now on is its matter.
		this.#given.clear();
		this.#store.closed(this);
	}

	/** More records are on disk. */
	committed(): void {
		if (!this.#isIdle || this.#store.log.lastOf(this.stream) < this.#cursor) return;
		this.#isIdle = false;
		this.#more();
	}

	/** Gives whether it waits no longer. */
	roomAgain(isCrowded: boolean): boolean {
		if (this.#isFull(() => isCrowded)) return false;
		this.#more();
		return true;
	}

	/** Beyond this nothing is given until the place, or that of another group, has moved: what is skipped for days must not grow without end. */
	#isFull(isCrowded: () => boolean): boolean {
		if (this.#place === undefined) return false;
		const { doneAboveMax, groupShare } = this.#store;
		const { size } = this.#place.done;
		return size + this.#pending.length >= doneAboveMax || (size + this.held >= groupShare && isCrowded());
	}

	#noteNext(): void {
		if (!this.#isNoting) this.#note();
	}

	#note(): void {
		if (this.#place === undefined || this.#pending.length === 0) return;
		const { stream, group } = this.#place;
		const place = this.position;
		const done = this.#pending.filter((position) => position >= place);
		this.#pending = [];
		this.#isNoting = true;
		this.#settle(this.#tryNote({ stream, group, place, ...(done.length > 0 && { done }) }));
	}

	/** `async`, so that what the log throws is a rejection as any other. */
	async #tryNote(note: GroupNote): Promise<void> {
		await this.#store.note(note);
	}

	#settle(persisted: Promise<void>): void {
		const gathering = this.#gathering;
		this.#gathering = undefined;
		gathering?.settle(persisted);
		this.#noted = persisted;
		persisted.then(
			() => {
				this.#isNoting = false;
				this.#noteNext();
			},
			// Whoever waits for it is told; the reader is of no more use then.
			() => undefined,
		);
	}
}

function gather(): Gathering {
	let settle: Gathering['settle'] = () => undefined;
	const promise = new Promise<void>((resolve) => {
		settle = resolve;
	});
	return { promise, settle };
}
