import type { LogEvent } from '../foundation/log-record.ts';
import { seedOf } from './record.ts';
import { HEADER_BYTES, type SegmentName } from './segment-header.ts';

/** What a segment holds of one stream. */
export interface StreamCount {
	events: number;
	/** Of their records. */
	bytes: number;
	first: number;
	last: number;
	lastTime: number;
}

/** Where a record begins, here and there: a read begins at the mark in front of what it looks for. */
interface Mark {
	readonly position: number;
	readonly time: number;
	readonly offset: number;
}

/** From one mark to the next, in bytes. */
const MARK_BYTES = 64 * 1024;
/** Streams that a segment counts each for itself; with more it cannot be skipped by their readers. Bounds memory against a client that invents names. */
const STREAMS_MAX = 1024;

/** What a start must know of a segment whose records it does not read. JSON. */
export interface SegmentSummary {
	/** The position, and the offset, behind its last record. */
	readonly next: number;
	readonly length: number;
	readonly lastTime: number;
	/** Null if no event has an id. */
	readonly lastIdTime: number | null;
	/** Events with an id. */
	readonly ids: number;
	/** Streams that are counted each, and events of the others. */
	readonly streams: readonly (readonly [stream: string, count: StreamCount])[];
	readonly uncounted: number;
	readonly marks: readonly Mark[];
}

interface SegmentOptions extends SegmentName {
	readonly time: number;
	readonly salt: Uint8Array;
	/** Length of the record that says what is remembered of everything in front; 0 for none. */
	readonly checkpointBytes: number;
	/** Length of the record behind that. */
	readonly summaryBytes?: number;
}

/** One file of the log, as it is known in memory. */
export class Segment {
	readonly first: number;
	/** The epoch by which its file is named; 0 until that is made. */
	epoch: number;
	readonly salt: Uint8Array;
	readonly seed: number;
	/** When it was begun. */
	readonly time: number;
	/** Without one, it and what is in front of it can only be deleted together: it goes on where a file could not be written further. */
	readonly hasCheckpoint: boolean;
	/** The position behind its last record. */
	next: number;
	/** Time of its last record. */
	lastTime: number;
	/** Time of its last event with an id, or later where that was not written here; undefined if it has none. */
	lastIdTime: number | undefined;
	/** Events with an id, at most. */
	#ids = 0;
	/** The offset behind its last record. */
	length: number;
	/** What its file takes on disk; 0 until that is made. */
	fileBytes = 0;
	/** Positions that were found to be lost in it: first, and behind the last. */
	readonly lost: { readonly from: number; readonly to: number }[] = [];
	/** Counts of each stream that it holds. */
	readonly streams: Map<string, StreamCount> = new Map();
	/** Events of streams that are not counted each. */
	#uncounted = 0;
	readonly #marks: Mark[] = [];

	constructor(options: SegmentOptions) {
		this.first = options.first;
		this.epoch = options.epoch;
		this.salt = options.salt;
		this.seed = seedOf(options.salt);
		this.time = options.time;
		this.next = this.first;
		this.lastTime = options.time;
		this.hasCheckpoint = options.checkpointBytes > 0;
		this.length = HEADER_BYTES + options.checkpointBytes + (options.summaryBytes ?? 0);
	}

	/** A record was put behind the others; `stream` of an event, and whether that has an id. */
	add(position: number, time: number, bytes: number, stream: string | undefined, hasId: boolean): void {
		const last = this.#marks.at(-1);
		if (last === undefined || this.length - last.offset >= MARK_BYTES) {
			this.#marks.push({ position, time, offset: this.length });
		}
		this.length += bytes;
		this.next = position + 1;
		this.lastTime = time;
		if (stream === undefined) return;
		if (hasId) {
			this.lastIdTime = time;
			this.#ids++;
		}
		const count = this.streams.get(stream);
		if (count !== undefined) {
			count.events++;
			count.bytes += bytes;
			count.last = position;
			count.lastTime = time;
		} else if (this.streams.size < STREAMS_MAX) {
			this.streams.set(stream, { events: 1, bytes, first: position, last: position, lastTime: time });
		} else this.#uncounted++;
	}

	/** Between the records lies something else. */
	skipTo(offset: number): void {
		this.length = offset;
	}

	/** The last records were not written here: everything from this position on; `moved` are the events among them. */
	cut(position: number, offset: number, moved: Iterable<{ readonly stream: string; readonly bytes: number }>): void {
		this.next = position;
		this.length = offset;
		while ((this.#marks.at(-1)?.position ?? -1) >= position) this.#marks.pop();
		for (const { stream, bytes } of moved) {
			const count = this.streams.get(stream);
			if (count === undefined) {
				this.#uncounted--;
				continue;
			}
			count.events--;
			count.bytes -= bytes;
			count.last = Math.min(count.last, position - 1);
			if (count.events === 0) this.streams.delete(stream);
		}
	}

	summary(): SegmentSummary {
		const { next, length, lastTime, lastIdTime = null } = this;
		const streams = [...this.streams];
		const [ids, uncounted, marks] = [this.#ids, this.#uncounted, this.#marks];
		return { next, length, lastTime, lastIdTime, ids, streams, uncounted, marks };
	}

	/** It holds what an earlier process says. */
	restore({ next, length, lastTime, lastIdTime, ids, streams, uncounted, marks }: SegmentSummary): void {
		this.next = next;
		this.length = length;
		this.lastTime = lastTime;
		this.lastIdTime = lastIdTime ?? undefined;
		this.#ids = ids;
		for (const [stream, count] of streams) this.streams.set(stream, count);
		this.#uncounted = uncounted;
		this.#marks.push(...marks);
	}

	/** Where to begin to look for a position, and where it is known that no such record is in front. */
	offsetOf(position: number): number {
		return this.#markBefore((mark) => mark.position <= position)?.offset ?? this.#start;
	}

	/** Where to begin to look for the first record of this time. */
	offsetAtTime(time: number): number {
		return this.#markBefore((mark) => mark.time < time)?.offset ?? this.#start;
	}

	/** False if no event of the stream, or only such in front of the position, is in it. */
	mayHold(stream: string, from: number): boolean {
		const count = this.streams.get(stream);
		return count === undefined ? this.#uncounted > 0 : count.last >= from;
	}

	get #start(): number {
		return this.#marks[0]?.offset ?? this.length;
	}

	#markBefore(isBefore: (mark: Mark) => boolean): Mark | undefined {
		let low = 0;
		let high = this.#marks.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			const mark = this.#marks[middle];
			if (mark !== undefined && isBefore(mark)) low = middle + 1;
			else high = middle;
		}
		return this.#marks[low - 1];
	}
}

/** Events of one page, as many as its reader asked for. */
export class PageBuilder {
	readonly events: LogEvent[] = [];
	readonly stream: string | undefined;
	readonly #bytesMax: number;
	readonly #eventsMax: number;
	#bytes = 0;

	constructor(stream: string | undefined, bytesMax: number, eventsMax: number) {
		this.stream = stream;
		this.#bytesMax = bytesMax;
		this.#eventsMax = eventsMax;
	}

	/** Whether an event of so many bytes is still a part of it: the first one always is. */
	hasRoomFor(bytes: number): boolean {
		if (this.events.length === 0) return true;
		return this.events.length < this.#eventsMax && this.#bytes + bytes <= this.#bytesMax;
	}

	get isFull(): boolean {
		return this.events.length >= this.#eventsMax || this.#bytes >= this.#bytesMax;
	}

	add(event: LogEvent, bytes: number): void {
		this.events.push(event);
		this.#bytes += bytes;
	}
}

/** A segment, for who decides what may be deleted, and for status. */
export interface LogSegment {
	readonly first: number;
	readonly next: number;
	readonly lastTime: number;
	readonly lastIdTime: number | undefined;
	readonly fileBytes: number;
	readonly streams: ReadonlyMap<string, Readonly<StreamCount>>;
	/** False if no event of the stream, or only such in front of the position, is in it. */
	mayHold(stream: string, from: number): boolean;
}
