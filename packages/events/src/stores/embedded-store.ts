import { type ConsumeFrom, SpockError } from '@spock/protocol';

import type { LogMemory, RecordLog } from '../foundation/event-log.ts';
import type { EventStore, StoreReader, StoreReaderOptions } from '../foundation/event-store.ts';
import type { LogEvent, ReplayedRecord } from '../foundation/log-record.ts';
import { EmbeddedReader, type ReaderStore } from './embedded-reader.ts';
import { type GroupNote, type GroupPlace, GroupPlaces, placeKey } from './group-places.ts';
import { PersistedQueue } from './persisted-queue.ts';

export const DEFAULT_GROUPS_MAX = 1024;
/** 8192 positions of a group take some 20 kB in a checkpoint, and a place cannot lag by more events than that. */
const DEFAULT_DONE_ABOVE_MAX = 8192;
/** Of all groups together: a checkpoint with more could be longer than the segment that it begins. */
export const DEFAULT_HELD_MAX: number = 16 * DEFAULT_DONE_ABOVE_MAX;
export const DEFAULT_GROUP_SHARE = 256;

/** Bugs planted for the tests that must find them. */
export interface EmbeddedStoreMistakes {
	readonly doneBeforePersisted?: boolean;
}

export interface EmbeddedStoreOptions {
	readonly log: RecordLog;
	/** Most groups of all streams. Default 1024. */
	readonly groupsMax?: number;
	/** Most events that a group may have done above one that it has not: then it gets no more until that is done. Default 8192. */
	readonly doneAboveMax?: number;
	/**
	 * Most events that all groups together may hold: given, or done above one that is not. Then a group that holds `groupShare` gets no more
	 * until others hold less. Exceeded by two shares of each group at most. Default 131072.
	 */
	readonly heldMax?: number;
	/** Default 256. */
	readonly groupShare?: number;
	/** For the test that must find it. */
	readonly mistakes?: EmbeddedStoreMistakes;
}

/**
 * The store that is a view of the sidecar's own log: what is persisted is stored. It keeps nothing itself but the places of groups, which are
 * notes in the log, and a part of each checkpoint.
 */
export class EmbeddedStore implements EventStore, LogMemory {
	readonly name = 'embedded';
	readonly #log: RecordLog;
	readonly #groupsMax: number;
	readonly #places = new GroupPlaces();
	readonly #waiting = new PersistedQueue();
	readonly #readers = new Set<EmbeddedReader>();
	/** Those that hold too much. */
	readonly #stopped = new Set<EmbeddedReader>();
	readonly #heldMax: number;
	/** Groups that have a reader, or are about to. */
	readonly #taken = new Set<string>();
	readonly #readerStore: ReaderStore;
	#isClosed = false;

	constructor(options: EmbeddedStoreOptions) {
		const { log, groupsMax, doneAboveMax, heldMax, groupShare, mistakes = {} } = options;
		this.#log = log;
		this.#groupsMax = groupsMax ?? DEFAULT_GROUPS_MAX;
		this.#heldMax = heldMax ?? DEFAULT_HELD_MAX;
		this.#readerStore = {
			log,
			doneAboveMax: doneAboveMax ?? DEFAULT_DONE_ABOVE_MAX,
			groupShare: groupShare ?? DEFAULT_GROUP_SHARE,
			isCrowded: () => this.#isCrowded,
			stopped: (reader) => void this.#stopped.add(reader),
			note: (note) => this.#note(note),
			positionOf: (from) => this.#positionOf(from),
			closed: (reader) => this.#closedReader(reader),
			resolvesTooEarly: mistakes.doneBeforePersisted === true,
		};
	}

	/** More records are on disk: to be called at each commit of the log. */
	committed(): void {
		this.#waiting.advance(this.#log.persisted);
		for (const reader of this.#readers) reader.committed();
		this.#wake();
	}

	/** The place of every group, as it was noted. */
	groups(): readonly GroupPlace[] {
		return this.#places.all();
	}

	checkpoint(): string {
		return this.#places.checkpoint();
	}

	restore(checkpoint: string): void {
		this.#places.restore(checkpoint);
	}

	replay(record: ReplayedRecord, isKnown = false): void {
		if (!isKnown) this.#places.replay(record);
	}

	/** The events are in the log already: only waits until they are on disk. BAD_REQUEST for one that is not there. */
	async append(_stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		let index = 0;
		while (index < events.length) {
			const { position } = events[index] as LogEvent;
			if (position >= this.#log.next) {
				throw new SpockError('BAD_REQUEST', `position ${position} is not in the log; append it there first`);
			}
			await this.#persisted(position);
			let last = position;
			for (; index < events.length; index++) {
				const next = (events[index] as LogEvent).position;
				if (next >= this.#log.persisted) break;
				last = next;
			}
			stored(last);
		}
	}

	async lastOf(stream: string): Promise<number> {
		const last = this.#log.lastOf(stream);
		await this.#persisted(last);
		return last;
	}

	async holds(stream: string, position: number): Promise<boolean> {
		return (await this.lastOf(stream)) >= position;
	}

	async reader(stream: string, { group, from }: StoreReaderOptions): Promise<StoreReader> {
		this.#refuseIfClosed();
		if (group === undefined) return this.#open(stream, await this.#positionOf(from ?? 'new'));
		const key = placeKey(stream, group);
		if (this.#taken.has(key)) throw hasReader(stream, group);
		this.#taken.add(key);
		try {
			return this.#open(stream, this.#places.get(stream, group) ?? (await this.#newPlace(stream, group, from)));
		} catch (error) {
			this.#taken.delete(key);
			throw error;
		}
	}

	async deleteGroup(stream: string, group: string): Promise<void> {
		this.#refuseIfClosed();
		const key = placeKey(stream, group);
		if (this.#taken.has(key)) throw hasReader(stream, group);
		if (this.#places.get(stream, group) === undefined) {
			throw new SpockError('BAD_REQUEST', `unknown group "${group}" of stream "${stream}"; it may be deleted already`);
		}
		await this.#note({ stream, group, deleted: true });
	}

	async close(): Promise<void> {
		if (this.#isClosed) return;
		for (const reader of [...this.#readers]) await reader.close();
		this.#isClosed = true;
		this.#waiting.fail(closedError());
	}

	#open(stream: string, begin: number | GroupPlace): EmbeddedReader {
		this.#refuseIfClosed();
		const reader = new EmbeddedReader(this.#readerStore, stream, begin);
		this.#readers.add(reader);
		return reader;
	}

	async #newPlace(stream: string, group: string, from: ConsumeFrom | undefined): Promise<GroupPlace> {
		if (from === undefined) {
			throw new SpockError(
				'BAD_REQUEST',
				`unknown group "${group}" of stream "${stream}"; open a consumer in it first`,
			);
		}
		const to = await this.#positionOf(from);
		if (this.#places.size >= this.#groupsMax) {
			throw new SpockError('OVERLOADED', `there are ${this.#groupsMax} groups, the most that may be; delete one`, {
				details: { groupsMax: this.#groupsMax },
			});
		}
		// Waited for: a group from `new` that was forgotten by a crash would begin behind what came meanwhile.
		await this.#note({ stream, group, to });
		return this.#places.get(stream, group) as GroupPlace;
	}

	#note(note: GroupNote): Promise<void> {
		this.#refuseIfClosed();
		const position = this.#log.append({ kind: 'note', of: 'groups', text: JSON.stringify(note) });
		this.#places.apply(note);
		return this.#persisted(position);
	}

	async #positionOf(from: ConsumeFrom): Promise<number> {
		const { first, next } = this.#log;
		if (from === 'new') return next;
		if (from === 'first') return first;
		if ('time' in from) return this.#log.positionAt(from.time);
		return Math.min(Math.max(from.position, first), next);
	}

	async #persisted(position: number): Promise<void> {
		if (position < this.#log.persisted) return;
		this.#refuseIfClosed();
		await this.#waiting.wait(position);
	}

	/** A few thousand additions at worst, and only for a group that holds its share. */
	get #isCrowded(): boolean {
		let held = this.#places.doneAbove;
		for (const reader of this.#readers) held += reader.held;
		return held >= this.#heldMax;
	}

	/** Places have moved: readers that were full may go on. */
	#wake(): void {
		if (this.#stopped.size === 0) return;
		const isCrowded = this.#isCrowded;
		for (const reader of this.#stopped) if (reader.roomAgain(isCrowded)) this.#stopped.delete(reader);
	}

	#closedReader(reader: EmbeddedReader): void {
		this.#readers.delete(reader);
		this.#stopped.delete(reader);
		this.#wake();
		if (reader.group !== undefined) this.#taken.delete(placeKey(reader.stream, reader.group));
	}

	#refuseIfClosed(): void {
		if (this.#isClosed) throw closedError();
	}
}

function hasReader(stream: string, group: string): SpockError {
	return new SpockError('BAD_REQUEST', `group "${group}" of stream "${stream}" has a reader; close that first`);
}

function closedError(): SpockError {
	return new SpockError('UNAVAILABLE', 'the log was closed; connect again');
}
